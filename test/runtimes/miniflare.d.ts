declare module 'miniflare' {
  /** The part of Cloudflare's local runtime that these tests use. */
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
