/** What programs need that use a host of another process: configurations, failures with their fixes, and texts of servers made safe. It loads little. */
export {
  configFiles,
  type LayeredConfig,
  type LayerOptions,
  loadLayers,
  userConfigFile,
} from './config/layers.ts'
export { ConfigError } from './config/reader.ts'
export { FixableError, fixesOf, fixText } from './shared/failures.ts'
export { makeVisible } from './shared/visible.ts'
export { type DiffPiece, wordDiff } from './shared/word-diff.ts'
