import {
  createHost,
  type Host,
  type HostOptions,
  type LayeredConfig,
  type Model,
  machineVariables,
  offlineModel,
} from '@jackfield/host'
import { HostService, type HostServiceOptions } from '@jackfield/host/service'
import type { Io } from '../cli/io.ts'
import { modelNamed, modelsToTalkTo } from '../cli/models.ts'
import { registryOptions } from '../cli/registry.ts'
import { hostSettings } from '../cli/settings.ts'
import { bundleFolder, storeFile, storeToRead } from '../cli/store.ts'
import { layersOf, readLayers } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import type { HostChoice } from './address.ts'
import { digests } from './environment.ts'

/** A host for what the configuration names, until it is disposed of. */
export interface MadeService extends AsyncDisposable {
  readonly service: HostService
}

/** What a command says of its host in place of the configuration. */
export interface ServiceOptions extends Partial<Omit<HostServiceOptions, 'version' | 'info'>> {
  /** The configuration, where it was read already; null where the command needs none. Default: it is read. */
  config?: LayeredConfig | null
  /** Follows the files of the configuration. Default true. */
  follow?: boolean
}

/** Names of variables in the texts of a configuration: `${NAME}`, `${env:NAME}`, `${NAME:-default}`. */
const variableNames = /\$\{(?:env:)?([A-Za-z_]\w*)[}:]/g
/** Variables that say which models there are and how secrets are sealed. */
const ownVariables = /^(?:JACKFIELD_|ANTHROPIC_|OPENAI_|GOOGLE_|GEMINI_|OLLAMA_)/

const info = { name: 'jackfield', title: 'Jackfield', version }

/** Makes a host of this process that clients use. */
export function makeService(options: Omit<HostServiceOptions, 'version' | 'info'>): HostService {
  return new HostService({ ...options, info, version })
}

/** Makes a host of this process that one command alone uses, without clients. */
export function makeHost(options: Omit<HostOptions, 'info'>): Host {
  return createHost({ ...options, info })
}

/**
 * A host on a store alone. Looking makes no store: there is nothing to see in one that is not there. What it writes is
 * seen by other hosts on the store.
 */
export function storeService(store: string): HostService {
  return makeService({ servers: {}, models: [], store: storeToRead(store) })
}

/** The same, for commands that need no client. */
export function storeHost(store: string): Host {
  return makeHost({ servers: {}, models: [], store: storeToRead(store) })
}

/** Makes the host of a choice. Nothing is started before a client wants it. It follows the files of the configuration. */
export async function createService(
  choice: HostChoice & { answers?: unknown },
  io: Io,
  { config: given, follow = true, ...options }: ServiceOptions = {},
): Promise<MadeService> {
  const config = given === undefined ? await readLayers(choice, io) : (given ?? undefined)
  const models = options.models ?? (await defaultModels(io, config))
  const servers = options.servers ?? config?.servers ?? {}
  const registry = registryOptions({}, io)
  const service = makeService({
    ...hostSettings(config, choice, io),
    store: storeFile(choice.store, io),
    findModel: (id) => modelNamed(io.env, id)[0],
    environment: () => digests(io.env, namesIn(io.env, JSON.stringify(servers))),
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
  return await modelsToTalkTo(io.env, undefined, config?.models ?? []).catch(() => [offlineModel])
}

/** Variables that servers and models of this host get. */
function namesIn(env: NodeJS.ProcessEnv, texts: string): Set<string> {
  const named = Array.from(texts.matchAll(variableNames), ([, name = '']) => name)
  const passed = machineVariables(env).map(({ name }) => name)
  const own = Object.keys(env).filter((name) => ownVariables.test(name))
  return new Set([...named, ...passed, ...own, 'PATH', 'HOME'])
}
