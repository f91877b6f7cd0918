import { prepareSparkline } from './prepareSparkline';

const WIDTH = 100;
const HEIGHT = 22;

type Props = { values: readonly (number | null)[]; colour: string; label: string };

/** The course of a percentage in the height of a table row; gaps stay open. */
export function Sparkline({ values, colour, label }: Readonly<Props>) {
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`}
      preserveAspectRatio="none"
      className="h-5.5 w-full"
    >
      <line
        x1="0"
        x2={WIDTH}
        y1={HEIGHT}
        y2={HEIGHT}
        stroke="var(--line)"
        vectorEffect="non-scaling-stroke"
      />
      <path
        d={prepareSparkline(values, WIDTH, HEIGHT)}
        fill="none"
        stroke={colour}
        strokeWidth="1.5"
        strokeLinejoin="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}
