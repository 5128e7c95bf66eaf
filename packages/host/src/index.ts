export type { Profile } from './config/config.ts'
export { type ConfigOptions, type HostConfig, loadConfig, parseConfig } from './config/config.ts'
export { explainServers, explainSettings } from './config/explain.ts'
export {
  appFiles,
  type ConfigFile,
  configFiles,
  type DiscoveredServer,
  discoverServers,
  type LayeredConfig,
  type LayerOptions,
  loadLayers,
  userConfigFile,
} from './config/layers.ts'
export { addServers, ownServers, removeServer } from './config/own-file.ts'
export { ConfigError } from './config/reader.ts'
export { memorySecrets, type SecretKey, sealedCredentials, sealedSecrets } from './config/secrets/store.ts'
export { SystemKey, type SystemKeyOptions } from './config/secrets/system-key.ts'
export { withoutSecrets } from './config/secrets/without-secrets.ts'
export type { ServerAddition } from './config/server-entry.ts'
export {
  type FormValues,
  finishForm,
  planForm,
  problemWithField,
  readTyped,
  reviewForm,
  shownValue,
} from './core/forms/form.ts'
export { type InspectOptions, inspectUrl } from './core/forms/inspect-url.ts'
export { showQuestion } from './core/inbox/show.ts'
export { serveGateways } from './gateway/front.ts'
export { createHost } from './host.ts'
export { setAsideStore } from './log/store/database.ts'
export { asStoreError, StoreError, type StoreFault } from './log/store/store-error.ts'
export { TraceFilterError } from './log/trace/filter.ts'
export { type PlaybackOptions, playBack } from './log/trace/playback.ts'
export { parseRecording, type RecordingChange, recordingChanges } from './log/trace/recording.ts'
export * from './models/agent/index.ts'
export { isSwitchedOn } from './models/agent/tool-switches.ts'
export { type AiLanguageModel, type AiModelOptions, aiModel } from './models/ai-model.ts'
export { commentText, memberName, quoted, schemaType } from './models/code/schema-type.ts'
export {
  type EnvironmentModelOptions,
  type FoundOllama,
  findOllama,
  type ModelEnvironment,
  modelsFromEnvironment,
} from './models/environment.ts'
export { nearNames } from './models/listed-models.ts'
export type { MediaKind, MediaSupport } from './models/media.ts'
export { ModelError, type ModelErrorKind, type ModelSettings } from './models/model-error.ts'
export { scriptModel } from './models/script.ts'
export { type Bundle, type BundleOptions, readBundle, removeBundle } from './servers/install/bundle.ts'
export { planForServer, planFrom } from './servers/install/plan.ts'
export {
  bundleIn,
  createRegistry,
  type FetchBundleOptions,
  fetchBundle,
  type PublishedBundle,
  type RegistryOptions,
} from './servers/install/registry.ts'
export { type MachineVariable, machineVariables } from './servers/launch/machine-variables.ts'
export { type SandboxReadiness, sandboxReady } from './servers/sandbox/ready.ts'
export { FixableError, fixesOf, fixText } from './shared/failures.ts'
export { fingerprint } from './shared/fingerprint.ts'
export { makeVisible } from './shared/visible.ts'
export { type DiffPiece, wordDiff } from './shared/word-diff.ts'
export type * from './types/index.ts'
