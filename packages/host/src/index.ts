export * from './agent/index.ts'
export { type Bundle, type BundleOptions, readBundle, removeBundle } from './bundle/index.ts'
export { commentText, memberName, quoted, schemaType } from './code/index.ts'
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
export {
  type FormValues,
  finishForm,
  type InspectOptions,
  inspectUrl,
  planForm,
  problemWithField,
  readTyped,
  reviewForm,
  shownValue,
} from './forms/index.ts'
export { serveGateways } from './gateway/index.ts'
export { createHost } from './host.ts'
export { showQuestion } from './inbox/index.ts'
export { fingerprint } from './json.ts'
export { type MachineVariable, machineVariables } from './launch/index.ts'
export * from './models/index.ts'
export {
  addServer,
  bundleIn,
  createRegistry,
  type FetchBundleOptions,
  fetchBundle,
  ownServers,
  type PublishedBundle,
  planForServer,
  planFrom,
  type RegistryOptions,
  removeServer,
} from './registry/index.ts'
export { type SandboxReadiness, sandboxReady } from './sandbox/index.ts'
export {
  memorySecrets,
  type SecretKey,
  SystemKey,
  type SystemKeyOptions,
  sealedCredentials,
  sealedSecrets,
  withoutSecrets,
} from './secrets/index.ts'
export { asStoreError, StoreError, type StoreFault, setAsideStore } from './store/index.ts'
export {
  type PlaybackOptions,
  parseRecording,
  playBack,
  type RecordingChange,
  recordingChanges,
  TraceFilterError,
} from './trace/index.ts'
export { type DiffPiece, wordDiff } from './trust/index.ts'
export type * from './types/index.ts'
export { makeVisible } from './visible.ts'
