export { type Bundle, type BundleOptions, readBundle, removeBundle } from './bundle.ts'
