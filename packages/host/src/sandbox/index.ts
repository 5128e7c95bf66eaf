export { type SandboxReadiness, sandboxReady } from './ready.ts'
export { type Boxed, sandboxed } from './sandbox.ts'
