import { honoApp } from './hono-app.ts'

declare const Bun: {
  serve(options: object): { readonly url: URL }
}

const { fetch } = honoApp()
console.log(Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch }).url.href)
