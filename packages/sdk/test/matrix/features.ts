import { asked } from './asked.ts'
import { basics } from './basics.ts'
import type { Feature } from './feature.ts'
import { offered } from './offered.ts'

/** Everything that is tried everywhere. */
export const features: readonly Feature[] = [...basics, ...offered, ...asked]
