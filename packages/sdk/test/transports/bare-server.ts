import { defineServer, type Server } from '../../src/index.ts'

/** A server that offers nothing at all. */
export function createBareServer(): Server {
  return defineServer({ name: 'bare', version: '1.0.0' })
}
