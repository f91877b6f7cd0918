import { NotAvailable } from '../ui/NotAvailable';

type Props = { value: number | null; unit: string; name: string };

/** A measured value with its unit, or the dash that says the device does not report it. */
export function Reading({ value, unit, name }: Readonly<Props>) {
  return (
    <span className="inline-block min-w-11 text-right text-sm whitespace-nowrap">
      <span className="sr-only">{name} </span>
      {value === null ? (
        <>
          <NotAvailable reason={`The device does not report ${name}.`} />
          <span className="text-xs text-faint"> {unit}</span>
        </>
      ) : (
        <>
          {Math.round(value)}
          <span className="text-xs text-muted"> {unit}</span>
        </>
      )}
    </span>
  );
}
