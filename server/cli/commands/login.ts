import { Command } from 'commander';

interface Options {
  readonly url?: string;
  readonly token?: string;
  readonly email?: string;
}

/** Stores address and token for later commands. */
export function loginCommand(): Command {
  return new Command('login')
    .description('store the address of a control plane and a token for it')
    .option('--url <address>', 'the control plane, such as http://pool.example.com:3000')
    .option('--token <token>', 'a token made in the dashboard; "-" reads it from standard input')
    .option('--email <address>', 'sign in with e-mail and password, and make a token')
    .addHelpText(
      'after',
      '\nWithout --token it asks for e-mail and password (or reads the password from standard input).',
    )
    .action(async (options: Options) => {
      const { findCredentials, storeCredentials, trimUrl } = await import('../credentials');
      const { print } = await import('../output');
      const url = trimUrl(options.url ?? findCredentials().url);
      const { poolClient } = await import('../poolClient');
      const token = await findToken(url, options);
      const caller = await poolClient(url, { token }).api.auth.me.query();
      print(
        `Signed in to ${url} as ${caller.email} (${caller.role}); stored in ${storeCredentials({ url, token })}`,
      );
    });
}

async function findToken(url: string, options: Options): Promise<string> {
  const { askText, askSecret } = await import('../prompt');
  if (options.token === '-') return askSecret('Token: ');
  if (options.token !== undefined) return options.token;
  const email = options.email ?? (await askText('E-mail: '));
  const password = await askSecret('Password: ');
  const { tokenForPassword } = await import('../signIn');
  return tokenForPassword(url, email, password);
}
