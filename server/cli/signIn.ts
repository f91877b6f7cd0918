// Turns e-mail and password into an API token, which is what commands use afterwards.
import { hostname } from 'node:os';
import { SluiceError } from '../errors';
import { poolClient } from './poolClient';

/** Signs in and makes a token named after this machine. Throws SluiceError when the server says no. */
export async function tokenForPassword(url: string, email: string, password: string): Promise<string> {
  const response = await fetch(`${url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: new URL(url).origin },
    body: JSON.stringify({ email, password }),
  }).catch((error: unknown) => {
    throw new SluiceError('CONTROL_PLANE_UNREACHABLE', `The Sluice server at ${url} does not answer.`, {
      hint: 'Check the address given with --url.',
      cause: error,
    });
  });
  if (!response.ok) {
    const tooMany = response.status === 429;
    throw new SluiceError(
      tooMany ? 'RATE_LIMITED' : 'SIGN_IN_REQUIRED',
      tooMany ? 'There were too many attempts to sign in.' : 'E-mail or password is wrong.',
      { hint: tooMany ? 'Wait a minute and try again.' : 'Try again, or give a token with --token.' },
    );
  }
  const cookie = response.headers
    .getSetCookie()
    .map((entry) => entry.split(';')[0])
    .join('; ');
  const created = await poolClient(url, { cookie }).api.tokens.create.mutate({
    name: `sluice login on ${hostname()}`.slice(0, 100),
    kind: 'user',
  });
  return created.token;
}
