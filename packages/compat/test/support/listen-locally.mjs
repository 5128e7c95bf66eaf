// Preloaded into servers of others, which would listen on every interface.
import { Server } from 'node:net'

const { listen } = Server.prototype
Server.prototype.listen = function (port, ...rest) {
  return Number.isInteger(Number(port))
    ? listen.call(this, Number(port), '127.0.0.1', ...rest)
    : listen.call(this, port, ...rest)
}
