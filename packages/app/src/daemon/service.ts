import { type Model, machineVariables, offlineModel } from '@jackfield/host'
import { HostService, type HostServiceOptions } from '@jackfield/host/service'
import { followConfig } from '../cli/follow.ts'
import type { Io } from '../cli/io.ts'
import { writeNote } from '../cli/io.ts'
import { modelNamed, modelsToTalkTo } from '../cli/models.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { readLayers } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import type { HostChoice } from './address.ts'
import { digests } from './environment.ts'

/** A host for everything that the configuration names, until it is disposed of. */
export interface MadeService extends AsyncDisposable {
  readonly service: HostService
}

/** Names of variables in the texts of a configuration: `${NAME}`, `${env:NAME}`, `${NAME:-default}`. */
const variableNames = /\$\{(?:env:)?([A-Za-z_]\w*)[}:]/g
/** Variables that say which models there are and how secrets are sealed. */
const ownVariables = /^(?:JACKFIELD_|ANTHROPIC_|OPENAI_|GOOGLE_|GEMINI_|OLLAMA_)/

/** Makes the host of a choice. Nothing is started before a client wants it. It follows the files of the configuration. */
export async function createService(
  choice: HostChoice,
  io: Io,
  options: Pick<HostServiceOptions, 'build' | 'onStop'> = {},
): Promise<MadeService> {
  let config = await readLayers(choice, io)
  const models: readonly Model[] = await modelsToTalkTo(io.env, undefined, config.models).catch(() => [
    offlineModel,
  ])
  const service = new HostService({
    ...hostSettings(config, choice, io),
    servers: config.servers,
    models: [...models],
    store: storeFile(choice.store, io),
    info: { name: 'jackfield', title: 'Jackfield', version },
    version,
    ...options,
    findModel: (id) => modelNamed(io.env, id)[0],
    environment: () => digests(io.env, namesIn(io.env, JSON.stringify(config.servers))),
    sync: async (host) => {
      const next = await readLayers(choice, io)
      if (JSON.stringify(next) === JSON.stringify(config)) return
      config = next
      const { servers, rules, defaultVerdict } = next
      await host.reconfigure(servers, { rules, ...(defaultVerdict !== undefined && { defaultVerdict }) })
    },
  })
  const stop = followConfig(service.host, choice, io, (event) => {
    if ('problem' in event) writeNote(io, `! ${event.problem}`)
    else config = event.config
  })
  return {
    service,
    async [Symbol.asyncDispose]() {
      stop()
      await service.close()
    },
  }
}

/** Variables that servers and models of this host get. */
function namesIn(env: NodeJS.ProcessEnv, texts: string): Set<string> {
  const named = Array.from(texts.matchAll(variableNames), ([, name = '']) => name)
  const passed = machineVariables(env).map(({ name }) => name)
  const own = Object.keys(env).filter((name) => ownVariables.test(name))
  return new Set([...named, ...passed, ...own, 'PATH', 'HOME'])
}
