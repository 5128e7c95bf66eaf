import { defineServer, type Server } from '@jackfield/sdk'

/** What pages mean by `./server.ts`: a reader's own server. */
export const server: Server = defineServer({ name: 'own', version: '1.0.0' })
