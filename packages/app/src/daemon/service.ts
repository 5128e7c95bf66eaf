import {
  createHost,
  type Host,
  type HostOptions,
  type LayeredConfig,
  type Model,
  machineVariables,
  type ServerConfig,
} from '@jackfield/host'
import { HostService, type HostServiceOptions } from '@jackfield/host/service'
import { offlineModel } from '@jackfield/server-travel/planner'
import type { Io } from '../cli/io.ts'
import { conversationModels, modelNamed } from '../cli/models.ts'
import { registryOptions } from '../cli/registry.ts'
import { hostSettings } from '../cli/settings.ts'
import { bundleFolder, storeFile, storeToRead } from '../cli/store.ts'
import { layersOf, readLayers } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import type { HostChoice } from './address.ts'
import { environmentDigests } from './environment.ts'

/** A host for a configuration, until it is disposed. */
export interface CreatedService extends AsyncDisposable {
  readonly service: HostService
}

/** Settings of a command that override the configuration. */
export interface ServiceOptions extends Partial<Omit<HostServiceOptions, 'version' | 'info'>> {
  /** The configuration, if already read; null if the command needs none. Default: it is read. */
  config?: LayeredConfig | null
  /** Reloads the configuration when its files change. Default true. */
  follow?: boolean
}

/** Variable references in a configuration: `${NAME}`, `${env:NAME}`, `${NAME:-default}`. */
const variableReference = /\$\{(?:env:)?([A-Za-z_]\w*)[}:]/g
/** Variables that select models and the sealing of secrets. */
const settingVariables = /^(?:JACKFIELD_|ANTHROPIC_|OPENAI_|GOOGLE_|GEMINI_|OLLAMA_)/

const info = { name: 'jackfield', title: 'Jackfield', version }

/** Creates a host in this process for clients. */
export function makeService(options: Omit<HostServiceOptions, 'version' | 'info'>): HostService {
  return new HostService({ ...options, info, version })
}

/** Creates a host in this process for one command, without clients. */
export function makeHost(options: Omit<HostOptions, 'info'>): Host {
  return createHost({ ...options, info })
}

/**
 * Creates a host that has only a store. Read-only use does not create the store file. Other hosts on the store see its writes.
 */
export function storeService(store: string): HostService {
  return makeService({ servers: {}, models: [], store: storeToRead(store) })
}

/** The same, for commands that need no client. */
export function storeHost(store: string): Host {
  return makeHost({ servers: {}, models: [], store: storeToRead(store) })
}

/** Creates the host for these settings. Servers start on first use. Configuration files are watched. */
export async function createService(
  choice: HostChoice & { answers?: unknown },
  io: Io,
  { config: given, follow = true, ...options }: ServiceOptions = {},
): Promise<CreatedService> {
  const config = given === undefined ? await readLayers(choice, io) : (given ?? undefined)
  const models = options.models ?? (await defaultModels(io, config))
  const servers = options.servers ?? config?.servers ?? {}
  const registry = registryOptions({}, io)
  const service = makeService({
    ...hostSettings(config, choice, io),
    store: storeFile(choice.store, io),
    findModel: (id) => modelNamed(io.env, id)[0],
    environment: () =>
      environmentDigests(io.env, variablesUsed(io.env, JSON.stringify(servers)), programsOf(servers)),
    ...(follow && {
      configuration: {
        ...{ layers: layersOf(choice, io), config, registry, bundles: bundleFolder(io) },
        read: () => readLayers(choice, io),
        ...(options.models === undefined && { modelsOf: (next) => defaultModels(io, next) }),
      },
    }),
    ...options,
    servers,
    models: [...models],
  })
  return {
    service,
    [Symbol.asyncDispose]: () => service.close(),
  }
}

async function defaultModels(io: Io, config: LayeredConfig | undefined): Promise<readonly Model[]> {
  return await conversationModels(io.env, undefined, config?.models ?? []).catch(() => [offlineModel])
}

/** The programs that servers name without a folder. */
function programsOf(servers: Readonly<Record<string, ServerConfig>>): Set<string> {
  const commands = Object.values(servers).flatMap((server) => ('command' in server ? [server.command] : []))
  return new Set(commands.filter((command) => !/[\\/]/.test(command)))
}

/** The environment variables for servers and models of this host. */
function variablesUsed(env: NodeJS.ProcessEnv, texts: string): Set<string> {
  const named = Array.from(texts.matchAll(variableReference), ([, name = '']) => name)
  const passed = machineVariables(env).map(({ name }) => name)
  const settings = Object.keys(env).filter((name) => settingVariables.test(name))
  return new Set([...named, ...passed, ...settings, 'PATH', 'HOME'])
}
