import { webApp } from './app.ts'

declare const Bun: {
  serve(options: {
    hostname: string
    port: number
    idleTimeout: number
    fetch(request: Request): Promise<Response>
  }): { readonly url: URL }
}

const { url } = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: webApp().fetch })
console.log(url.href)
