import { webApp } from './app.ts'

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen(address: { port: number }): void },
    handler: (request: Request) => Promise<Response>,
  ): void
}

const onListen = ({ port }: { port: number }): void => console.log(`http://127.0.0.1:${port}/`)
Deno.serve({ hostname: '127.0.0.1', port: 0, onListen }, webApp().fetch)
