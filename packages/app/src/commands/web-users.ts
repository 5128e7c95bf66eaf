import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { LayeredConfig, SecretStore } from '@jackfield/host'
import type { UserHost, WebUser } from '@jackfield/web'
import { usageError } from '../cli/exit.ts'
import { readErrorReason } from '../cli/file-errors.ts'
import type { Io, Output } from '../cli/io.ts'
import { credentialStore, secretStore } from '../cli/secrets.ts'
import { storeFile } from '../cli/store.ts'
import { readConfig } from '../cli/target.ts'
import { oneLine } from '../output/sanitize.ts'
import type { WebOptions } from './web.ts'

/** Options that make `jackfield web` serve several people. */
export interface WebUsersOptions extends WebOptions {
  /** The origin that browsers see. */
  public: string
  /** The issuer. */
  oidc: string
}

/**
 * `jackfield web --public --oidc`: serves the web app to several people behind a proxy, until a signal. Each has a host of their
 * own in this process: a store, secrets and sign-ins in a folder of their own, and connections to the configured servers. The
 * configuration is the operator's and cannot be changed on the page.
 */
export async function webForUsers(options: WebUsersOptions, io: Io, output: Output): Promise<void> {
  const {
    clientId,
    listen,
    public: origin,
    oidc: issuer,
    allow = [],
    appsDomain,
    session,
    maxUsers,
  } = options
  if (clientId === undefined)
    throw usageError('--oidc needs --client-id, the client id registered at the issuer.')
  if (listen === undefined)
    throw usageError(
      '--public needs --listen, such as --listen /run/jackfield/web.sock, where the proxy connects.',
    )
  const secretFile = options.clientSecretFile
  const store = storeFile(options.store, io)
  if (store === ':memory:') throw usageError('A web app for several people needs a store.')
  const { config } = await readConfig(options, io, (text) => output.note(text))
  const { serveWebUsers } = await import('@jackfield/web')
  const folder = join(dirname(store), 'web')
  const onWarning = (message: string): void => output.note(`! ${oneLine(message)}`)
  const serving = serveWebUsers({
    origin,
    listen,
    oidc: {
      issuer,
      clientId,
      ...(secretFile !== undefined && { clientSecret: readClientSecret(resolve(io.cwd, secretFile)) }),
    },
    allow,
    ...(appsDomain !== undefined && { appsDomain }),
    ...(session !== undefined && { sessionMs: session * 3_600_000 }),
    ...(maxUsers !== undefined && { maxUsers }),
    file: join(folder, 'sessions.db'),
    open: (user) => openUserHost(user, { folder, config, options, io }),
    onWarning,
  })
  await using server = await serving.catch((error: unknown) => {
    throw usageError(error instanceof Error ? error.message : String(error))
  })
  output.row({ url: server.url, listen: server.listening }, server.url)
  const where = typeof server.listening === 'number' ? `127.0.0.1:${server.listening}` : server.listening
  output.note(`It listens at ${where}, for the proxy of ${server.url}. Ctrl+C ends it.`)
  await new Promise<void>((ended) => {
    if (io.signal.aborted) ended()
    io.signal.addEventListener('abort', () => ended(), { once: true })
  })
}

interface UserHostOptions {
  /** Where the folders of the users are. */
  readonly folder: string
  readonly config: LayeredConfig
  readonly options: WebUsersOptions
  readonly io: Io
}

/** Opens the host of a user. Its servers start in the background. */
async function openUserHost(
  user: WebUser,
  { folder, config, options, io }: UserHostOptions,
): Promise<UserHost> {
  const ownFolder = join(folder, userFolder(user))
  const userIo = { ...io, env: { ...io.env, XDG_DATA_HOME: ownFolder } }
  const [{ createService }, { createPeerServer }] = await Promise.all([
    import('../daemon/service.ts'),
    import('@jackfield/host/service'),
  ])
  const created = await createService({ ...options, store: join(ownFolder, 'activity.db') }, io, {
    config,
    // The files are the operator's: the page neither shows nor changes them.
    follow: false,
    secrets: layeredSecrets(secretStore(userIo), secretStore(io)),
    credentials: credentialStore(userIo),
    findModel: () => undefined,
    // Digests of the operator's variables are for commands on this machine.
    environment: () => ({}),
    async openPage(url) {
      throw new Error(
        `This host runs on another machine and cannot open ${url.origin} in your browser. Ask its operator for a sign-in that needs no browser`,
      )
    },
    onStop() {},
  })
  const { service } = created
  const peers = await createPeerServer(service, { isOperator: false })
  // Start failures of servers are shown on the page.
  service.start().catch(() => {})
  return {
    peers,
    apps: service.host.apps,
    isBusy: () => service.busy,
    async close() {
      peers.close('the host ends')
      await created[Symbol.asyncDispose]()
    },
  }
}

/** A name for files that no issuer can choose. */
function userFolder({ issuer, subject }: WebUser): string {
  return createHash('sha256').update(`${issuer}|${subject}`).digest('hex').slice(0, 32)
}

/** A user's own secrets, and those of the operator where the user has none of that name; these can only be used by servers. */
function layeredSecrets(own: SecretStore, operators: SecretStore): SecretStore {
  return {
    get kind() {
      return own.kind
    },
    ready: () => own.ready(),
    names: () => own.names(),
    readable: async () => [...((await operators.readable?.()) ?? []), ...((await own.readable?.()) ?? [])],
    get: async (name) => (await own.get(name)) ?? (await operators.get(name)),
    set: (name, value) => own.set(name, value),
    remove: (name) => own.remove(name),
  }
}

function readClientSecret(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw usageError(`${file} cannot be read: ${readErrorReason(error)}`)
  }
  if (text === '') throw usageError(`${file} is empty. It must contain the client secret from the issuer.`)
  return text
}
