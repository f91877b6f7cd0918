import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerJson } from './answers';

/** Serves everything that is not an interface of its own. */
export type PageHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The dashboard from its production build in `<root>/.next`. */
export async function createPages(options: {
  root: string;
  host: string;
  port: number;
}): Promise<PageHandler> {
  const { default: next } = await import('next');
  const app = next({
    dev: false,
    dir: options.root,
    hostname: options.host,
    port: options.port,
    customServer: true,
  });
  await app.prepare();
  const handle = app.getRequestHandler();
  return (request, response) => handle(request, response);
}

/** Without a dashboard (SLUICE_UI=off): programs use the API, browsers see that there is nothing. */
export const noPages: PageHandler = (_request, response) => {
  answerJson(response, 404, {
    error: { code: 'NOT_FOUND', message: 'The dashboard is switched off.', hint: null },
  });
  return Promise.resolve();
};
