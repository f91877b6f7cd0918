// Sign-in and sign-out go over plain HTTP to /api/auth; the session is a cookie that scripts cannot read.

const UNREACHABLE = 'The Sluice server does not answer. Check that it runs, then try again.';

/** @returns null when signed in, otherwise the sentence to show. */
export async function signIn(email: string, password: string): Promise<string | null> {
  let response: Response;
  try {
    response = await post('/api/auth/sign-in/email', { email, password });
  } catch {
    return UNREACHABLE;
  }
  if (response.ok) return null;
  if (response.status === 429) return 'Too many attempts. Wait a minute, then try again.';
  if (response.status === 401 || response.status === 400) {
    return 'No account has this e-mail address and password. Check both, and the keyboard’s language and Caps Lock.';
  }
  if (response.status === 403) {
    return 'The server refused a request from this address. Open the dashboard under the URL that the server printed.';
  }
  return `The server could not sign you in (HTTP ${response.status}). Its log says why.`;
}

/** Ends the session. A server that does not answer is no reason to stay: the page is left all the same. */
export async function signOut(): Promise<void> {
  try {
    await post('/api/auth/sign-out', {});
  } catch {
    return;
  }
}

function post(path: string, body: Record<string, string>): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
