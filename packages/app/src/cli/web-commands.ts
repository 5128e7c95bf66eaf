import { type Command, InvalidArgumentError, Option } from 'commander'
import type { WebOptions } from '../commands/web.ts'
import type { Invocation } from './invocation.ts'
import { numberOf, storeOption, wholeNumber, withConfigOptions } from './options.ts'

/** Adds `web`. */
export function addWebCommands(program: Command, invocation: Invocation): void {
  withConfigOptions(
    program
      .command('web')
      .description('Serve the web app of this folder on 127.0.0.1 and open it in a browser'),
  )
    .option('--no-open', 'print the login link only')
    .addOption(
      new Option(
        '--port <port>',
        'port to listen on; default the last one, else the first free of 7411 to 7419',
      ).argParser(
        numberOf(
          'a port from 1 to 65535',
          (value) => Number.isInteger(value) && value > 0 && value <= 65_535,
        ),
      ),
    )
    .addOption(storeOption())
    .option('--json', 'print the login link as one line of JSON: {"url":"…"}')
    .option(
      '--public <origin>',
      'serve several people at this https origin of a proxy, such as https://jackfield.example.org',
    )
    .option('--oidc <issuer>', 'with --public: the OpenID issuer where they sign in')
    .option(
      '--client-id <id>',
      'client id registered at the issuer, with the redirect URI <origin>/oidc/callback',
    )
    .option('--client-secret-file <file>', 'file with the client secret; omit for a public client')
    .addOption(
      new Option(
        '--allow <who>',
        'who may sign in: ann@example.org, @example.org, sub:<subject> or everyone; repeatable',
      ).argParser((who: string, before: string[] = []) => [...before, who]),
    )
    .addOption(
      new Option(
        '--listen <address>',
        'address for the proxy: the path of a Unix socket (mode 0660), or a port of 127.0.0.1',
      ).argParser(listenAddress),
    )
    .option('--apps-domain <domain>', 'domain whose subdomains serve the apps of servers')
    .addOption(
      new Option('--session <hours>', 'how long a sign-in lasts; default 8').argParser(wholeNumber(720)),
    )
    .addOption(
      new Option('--max-users <number>', 'users with a running host; default 100').argParser(
        wholeNumber(10_000),
      ),
    )
    .action((options: WebOptions) =>
      invocation.run(options, async (io, output) =>
        (await import('../commands/web.ts')).web(options, io, output),
      ),
    )
}

function listenAddress(text: string): string | number {
  if (text.includes('/')) return text
  const [, number = ''] = /^(?:127\.0\.0\.1:)?(\d+)$/.exec(text) ?? []
  if (number !== '' && Number(number) <= 65_535) return Number(number)
  throw new InvalidArgumentError(
    'It must be the path of a socket, such as /run/jackfield/web.sock, or a port of 127.0.0.1.',
  )
}
