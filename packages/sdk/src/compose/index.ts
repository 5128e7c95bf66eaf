export { compose } from './compose.ts'
export type { Composition, CompositionOptions } from './composition.ts'
export { proxy } from './proxy.ts'
export type { ProxiedServer, ProxyLimits, ProxyOptions, RelayedExtension } from './proxy-options.ts'
