import type { RegistryOptions } from '@jackfield/host'
import type { Io } from './io.ts'

/** The registry to use, and the environment. */
export function registryOptions({ registry }: { registry?: string }, io: Pick<Io, 'env'>): RegistryOptions {
  const url = registry ?? io.env['JACKFIELD_REGISTRY']
  return { env: io.env, ...(url !== undefined && { url }) }
}
