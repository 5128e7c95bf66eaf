import { serveHttp } from '@jackfield/sdk/http'
import { createFixture } from '../peers/jackfield/definition.ts'
import type { Running } from './pair.ts'

/** This project's fixture over HTTP, in this process. */
export async function inProcess(): Promise<Running> {
  const listening = await serveHttp(createFixture()).listen({ port: 0 })
  return { place: { url: listening.url, transport: 'http' }, stop: () => listening.close() }
}
