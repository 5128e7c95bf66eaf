/**
 * What a program finds in its world, written in the JavaScript of that world. It is given the ways out, and gives back
 * a function that runs a program and tells how it ended.
 */
export const prelude: string = `((call, show, log, list) => {
  'use strict'
  const { parse, stringify } = JSON
  const { freeze, create, assign } = Object
  const text = (value) => {
    if (typeof value === 'string') return value
    if (value instanceof Error) return value.name + ': ' + value.message
    try {
      const json = stringify(value)
      return json === undefined ? String(value) : json
    } catch {
      return String(value)
    }
  }
  const stub = (server, tool) => async (args = {}) => {
    const json = stringify(args)
    if (typeof args !== 'object' || args === null || Array.isArray(args))
      throw new TypeError(tool + ' of ' + server + ' takes one object with named arguments')
    const { result, error, denied } = parse(await call(server, tool, json))
    if (error !== undefined) throw assign(new Error(error), { name: 'ToolError', denied, server, tool })
    return result
  }
  const closed = (members, unknown) =>
    new Proxy(freeze(assign(create(null), members)), {
      get(target, name) {
        if (name in target || typeof name === 'symbol' || name === 'then' || name === 'toJSON') return target[name]
        throw new TypeError(unknown(name, Object.keys(target)))
      },
    })
  const few = (names) => names.slice(0, 40).join(', ') + (names.length > 40 ? ' and ' + (names.length - 40) + ' more' : '')
  const servers = create(null)
  for (const [server, tools] of parse(list)) {
    const own = create(null)
    for (const tool of tools) own[tool] = stub(server, tool)
    servers[server] = closed(own, (name, all) => server + ' has no tool "' + name + '". It has: ' + few(all))
  }
  const write = (...values) => log(values.map(text).join(' '))
  const put = (...things) => {
    for (const thing of things) {
      if (typeof thing?.handle === 'number') show('', thing.handle)
      else if (Array.isArray(thing?.content) && thing.content.every((part) => typeof part?.handle === 'number'))
        for (const part of thing.content) show('', part.handle)
      else show(text(thing), -1)
    }
  }
  const own = {
    servers: closed(servers, (name, all) => 'There is no server "' + name + '". There are: ' + few(all)),
    console: freeze({ log: write, info: write, warn: write, error: write, debug: write }),
    show: put,
  }
  for (const [name, value] of Object.entries(own))
    Object.defineProperty(globalThis, name, { value, enumerable: true })
  const where = (error) =>
    String(error.stack ?? '').split('\\n').filter((line) => line.includes('program.js')).slice(0, 5).join('\\n')
  return (program, done, failed) => {
    program().then(
      (value) => done(value === undefined ? '' : text(stringify(value))),
      (error) => failed(error instanceof Error ? (text(error) + '\\n' + where(error)).trim() : 'It threw ' + text(error)),
    ).catch((error) => failed(text(error)))
  }
})`
