import { defineServer, type Server } from '@jackfield/sdk'

/** A server that offers nothing at all. */
export function createBareServer(): Server {
  return defineServer({ name: 'bare', version: '1.0.0' })
}
