export * from './agent/index.ts'
export {
  ConfigError,
  type ConfigOptions,
  type ConfigProblem,
  type HostConfig,
  loadConfig,
  parseConfig,
} from './config/index.ts'
export { createHost } from './host.ts'
export * from './models/index.ts'
export { StoreError } from './store/index.ts'
export type * from './types/index.ts'
