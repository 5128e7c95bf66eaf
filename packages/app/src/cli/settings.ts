import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { configFiles, type HostOptions, type LayeredConfig, type SamplingSettings } from '@jackfield/host'
import { credentialStore, type SecretsIo, secretStore } from './secrets.ts'
import { type ConfigChoice, layersOf, readLayers } from './target.ts'

/** Host settings from the configuration and the environment, without the servers. */
export function hostSettings(
  config: LayeredConfig | undefined,
  options: ConfigChoice & { answers?: unknown },
  io: SecretsIo,
): Omit<HostOptions, 'servers' | 'models'> {
  return {
    rules: config?.rules ?? [],
    roots: config?.roots ?? [],
    ...(config?.defaultVerdict !== undefined && { defaultVerdict: config.defaultVerdict }),
    ...config?.limits,
    ...(config !== undefined && { log: config.log }),
    ...(config !== undefined && { sampling: config.sampling }),
    ...(options.answers !== undefined && { sampling: reviewedByFile(config?.sampling) }),
    workspace: io.cwd,
    env: io.env,
    home: io.env.HOME ?? homedir(),
    secrets: secretStore(io),
    credentials: credentialStore(io),
    // Secrets of other configured servers are redacted too, and not logged.
    redactFor: async () => {
      if (config !== undefined) return Object.values(config.servers)
      // A command for a URL or a program works without a configuration, also when a file cannot be read.
      if (!configFiles(layersOf(options, io)).some(({ file }) => existsSync(file))) return []
      return readLayers(options, io).then(
        ({ servers }) => Object.values(servers),
        () => [],
      )
    },
    startProjectServers: options.startWhatThisFolderNames === true,
  }
}

/** An answers file decides on every sampling request, also when the offline planner would answer. */
function reviewedByFile(sampling: SamplingSettings = {}): SamplingSettings {
  const servers = Object.entries(sampling.servers ?? {}).map(
    ([name, { reviewOffline: _, ...settings }]) => [name, settings] as const,
  )
  return { ...sampling, servers: Object.fromEntries(servers), reviewOffline: true }
}
