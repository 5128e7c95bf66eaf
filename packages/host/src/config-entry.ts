/**
 * For programs that use a host in another process: configurations, failures with their fixes, and sanitizing of server text. Loads
 * little code.
 */
export {
  configFiles,
  type LayeredConfig,
  type LayerOptions,
  loadLayers,
  userConfigFile,
} from './config/layers.ts'
export { ConfigError } from './config/reader.ts'
export { FixableError, fixesOf, fixText } from './shared/failures.ts'
export { matchesGlob } from './shared/text.ts'
export { makeVisible } from './shared/visible.ts'
export { type DiffPiece, wordDiff } from './shared/word-diff.ts'
