// The parts that these tests use of packages that only this folder's package.json brings.

declare module 'miniflare' {
  /** Cloudflare's runtime on this machine. */
  export class Miniflare {
    constructor(options: {
      modules: { type: 'ESModule'; path: string; contents: string }[]
      compatibilityDate: string
      compatibilityFlags?: string[]
      durableObjects?: Record<string, string>
      host: string
      port: number
    })
    readonly ready: Promise<URL>
  }
}

declare module '@hono/node-server' {
  export function serve(
    options: {
      fetch(request: Request): Response | Promise<Response>
      hostname: string
      port: number
    },
    onListen: (address: { port: number }) => void,
  ): void
}

declare module 'cors' {
  import type { RequestHandler } from 'express'
  export default function cors(options: { origin: string[]; exposedHeaders: string[] }): RequestHandler
}

declare module 'compression' {
  import type { RequestHandler } from 'express'
  export default function compression(options: { threshold: number }): RequestHandler
}
