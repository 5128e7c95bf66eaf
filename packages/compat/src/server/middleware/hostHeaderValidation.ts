/** Express middleware that checks the Host header. Transports do not check it again. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { allowsHost, loopbackNames } from '../http-context.ts'

type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/** Allows requests for these host names, on any port. Others get 403. IPv6 addresses have brackets: `[::1]`. */
export function hostHeaderValidation(allowedHostnames: string[]): Middleware {
  return (request, response, next) => {
    if (allowsHost(request, response, allowedHostnames)) next()
  }
}

/** As `hostHeaderValidation`, for the names of this machine. */
export function localhostHostValidation(): Middleware {
  return hostHeaderValidation([...loopbackNames])
}
