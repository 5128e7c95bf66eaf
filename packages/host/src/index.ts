export * from './agent/index.ts'
export {
  appFiles,
  ConfigError,
  type ConfigFile,
  type ConfigOptions,
  configFiles,
  type HostConfig,
  type LayeredConfig,
  type LayerOptions,
  loadConfig,
  loadLayers,
  type Profile,
  parseConfig,
  type ServerAddition,
  userConfigFile,
  withServers,
} from './config/index.ts'
export { createHost } from './host.ts'
export { showQuestion } from './inbox/index.ts'
export * from './models/index.ts'
export { memorySecrets, type SecretKey, sealedSecrets, withoutSecrets } from './secrets/index.ts'
export { StoreError } from './store/index.ts'
export { type DiffPiece, wordDiff } from './trust/index.ts'
export type * from './types/index.ts'
export { makeVisible } from './visible.ts'
