export { appFiles } from './apps.ts'
export { type ConfigOptions, type HostConfig, loadConfig, parseConfig, textsOf } from './config.ts'
export type { JackfieldSection } from './jackfield-section.ts'
export {
  type ConfigFile,
  configFiles,
  type LayeredConfig,
  type LayerOptions,
  loadLayers,
  userConfigFile,
} from './layers.ts'
export { withServers } from './own-file.ts'
export { ConfigError, type ConfigProblem } from './problem.ts'
export type { Profile } from './profiles.ts'
export type { ServerAddition } from './server-entry.ts'
export { serverProblems } from './server-problems.ts'
export {
  type ConfigEnvironment,
  folderText,
  fromEnvironment,
  type Part,
  partsOf,
  soundsSecret,
} from './variables.ts'
