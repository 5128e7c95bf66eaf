import { stripTypeScriptTypes } from 'node:module'
import quickjs from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSDeferredPromise,
  type QuickJSHandle,
  type QuickJSRuntime,
} from 'quickjs-emscripten-core'
import type { FromProgram, Job } from './process.ts'

// The package declares its CommonJS form, in which the engine is nested one level deeper.
const engine = 'default' in quickjs ? quickjs.default : quickjs
const pageBytes = 65_536
/** The engine's initial memory. */
const minPages = 256
const maxLogLines = 5_000
const maxShowCalls = 100

/** Starts the program; returns the function that delivers call results to it. */
export async function runInSandbox(
  job: Job,
  send: (message: FromProgram) => void,
): Promise<(id: number, answer: string) => void> {
  // The engine does not count its allocations in WebAssembly, so the memory limit is set on the WebAssembly memory.
  const pages = Math.max(minPages, Math.ceil(job.memoryBytes / pageBytes))
  const wasmMemory = new WebAssembly.Memory({ initial: minPages, maximum: pages })
  const module = await newQuickJSWASMModuleFromVariant(newVariant(engine, { wasmMemory }))
  const sandbox = new Sandbox(job, send, module.newRuntime())
  sandbox.start()
  return (id, answer) => sandbox.answer(id, answer)
}

/** Runs one program, within its limits. */
class Sandbox {
  readonly #job: Job
  readonly #send: (message: FromProgram) => void
  readonly #runtime: QuickJSRuntime
  readonly #vm: QuickJSContext
  readonly #pendingCalls = new Map<number, QuickJSDeferredPromise>()
  #calls = 0
  #remainingOutput: number
  #lines = 0
  #shown = 0
  #hasEnded = false
  #cpuMs = 0
  #startedAt = 0
  #isCpuExhausted = false

  constructor(job: Job, send: (message: FromProgram) => void, runtime: QuickJSRuntime) {
    this.#job = job
    this.#send = send
    this.#remainingOutput = job.outputCharacters
    this.#runtime = runtime
    this.#vm = runtime.newContext()
    runtime.setInterruptHandler(() => {
      this.#isCpuExhausted ||= this.#cpuMs + performance.now() - this.#startedAt > job.cpuMs
      return this.#isCpuExhausted || this.#hasEnded
    })
  }

  start(): void {
    const vm = this.#vm
    const { servers, file } = this.#job
    const call = vm.newFunction('call', (server, tool, args) => this.#onCall(server, tool, args))
    const show = vm.newFunction('show', (text, handle) => this.#onShow(text, handle))
    const log = vm.newFunction('log', (text) => this.#onLog(text))
    const done = vm.newFunction('done', (value) => {
      const text = vm.getString(value)
      this.#end('ok', text === '' ? {} : { value: text })
    })
    const thrown = vm.newFunction('failed', (error) => this.#fail(vm.getString(error)))
    this.#runJobs(() => {
      const createApi = vm.unwrapResult(vm.evalCode(prelude, 'jackfield.js'))
      const list = vm.newString(JSON.stringify(servers))
      const run = vm.unwrapResult(
        vm.callFunction(createApi, vm.undefined, call, show, log, list, vm.newString(file)),
      )
      const program = compiled(vm, this.#job)
      if ('problem' in program) this.#fail(program.problem)
      else {
        const started = vm.callFunction(run, vm.undefined, program.main, done, thrown)
        if (started.error) this.#failWith(started.error)
      }
    })
  }

  /** Delivers the result of a call. */
  answer(id: number, answer: string): void {
    const promise = this.#pendingCalls.get(id)
    if (promise === undefined) return
    this.#pendingCalls.delete(id)
    this.#runJobs(() => this.#vm.newString(answer).consume((text) => promise.resolve(text)))
  }

  #onCall(server: QuickJSHandle, tool: QuickJSHandle, args: QuickJSHandle): QuickJSHandle {
    const vm = this.#vm
    const promise = vm.newPromise()
    const id = ++this.#calls
    if (id > this.#job.calls) {
      const error = `A program may make ${this.#job.calls} calls, and these are made`
      promise.resolve(vm.newString(JSON.stringify({ error, denied: false })))
      return promise.handle
    }
    this.#pendingCalls.set(id, promise)
    this.#send({
      type: 'call',
      id,
      server: vm.getString(server),
      tool: vm.getString(tool),
      arguments: vm.getString(args),
    })
    return promise.handle
  }

  #onShow(text: QuickJSHandle, handle: QuickJSHandle): void {
    if (++this.#shown > maxShowCalls) return
    const number = this.#vm.getNumber(handle)
    const shownText = number >= 0 ? undefined : this.#limitOutput(this.#vm.getString(text))
    if (number >= 0) this.#send({ type: 'show', handle: number })
    else if (shownText !== undefined) this.#send({ type: 'show', text: shownText })
  }

  #onLog(text: QuickJSHandle): void {
    if (++this.#lines > maxLogLines) return
    const loggedText = this.#limitOutput(this.#vm.getString(text))
    if (loggedText !== undefined) this.#send({ type: 'log', text: loggedText })
  }

  /** A text cut to the remaining output; undefined if nothing remains. */
  #limitOutput(text: string): string | undefined {
    if (this.#remainingOutput <= 0) return undefined
    const start = text.slice(0, this.#remainingOutput)
    this.#remainingOutput -= start.length
    return start.length < text.length || this.#remainingOutput <= 0
      ? `${start}… [cut: that is all it may put out]`
      : start
  }

  /** Runs pending jobs of the program until it waits or ends. */
  #runJobs(step: () => void): void {
    if (this.#hasEnded) return
    this.#startedAt = performance.now()
    try {
      step()
      for (let hasJobs = true; hasJobs && !this.#isCpuExhausted && !this.#hasEnded; ) {
        const jobs = this.#runtime.executePendingJobs()
        if (jobs.error) {
          this.#failWith(jobs.error)
          break
        }
        hasJobs = jobs.value > 0
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error))
    }
    this.#cpuMs += performance.now() - this.#startedAt
    if (this.#isCpuExhausted)
      this.#end('limit', { error: `It computed for more than ${this.#job.cpuMs} ms.` })
    else if (this.#pendingCalls.size === 0) {
      this.#end('error', { error: 'It waits for something that never comes: no call is under way.' })
    }
  }

  #failWith(error: QuickJSHandle): void {
    const value: unknown = error.consume((handle) => this.#vm.dump(handle))
    this.#fail(
      typeof value === 'object' && value !== null && 'message' in value
        ? valueText(value.message)
        : valueText(value),
    )
  }

  #fail(message: string): void {
    if (this.#isCpuExhausted) return
    const { memoryBytes, file } = this.#job
    // If there is no room for an error object, null is thrown.
    const memory = message === 'null' || /out of memory|memory access out of bounds/i.test(message)
    if (memory) this.#end('limit', { error: `It used more than ${memoryBytes} bytes of memory.` })
    else this.#end('error', { error: withProgramColumns(message, file).slice(0, 4_000) })
  }

  #end(outcome: 'ok' | 'error' | 'limit', details: { value?: string; error?: string }): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#send({ type: 'end', outcome, ...details })
  }
}

/** The program as a function; types are removed if it is not JavaScript. */
function compiled(vm: QuickJSContext, { program, file }: Job): { main: QuickJSHandle } | { problem: string } {
  const text = `${programPrefix}${program}\n})`
  const first = vm.evalCode(text, file)
  if (!first.error) return { main: first.value }
  const problem = first.error.consume((handle) => errorText(vm.dump(handle)))
  const statement = /^[\t ]*(?:import|export)\b(?!\s*[(.])/m.exec(program)
  let javaScript: string
  try {
    javaScript = stripTypeScriptTypes(text)
  } catch (error) {
    if (statement !== null) return { problem: moduleProblem(program.slice(0, statement.index), file) }
    return { problem: typeScriptProblem(error, file) ?? problem }
  }
  const second = vm.evalCode(javaScript, file)
  if (!second.error) return { main: second.value }
  return { problem: second.error.consume((handle) => errorText(vm.dump(handle))) }
}

/** What precedes the program on its first line. */
const programPrefix = '(async () => {'

/** An error text whose columns are those of the program. */
function withProgramColumns(text: string, file: string): string {
  const parts = text.split(`${file}:1:`)
  const column = (part: string): string =>
    part.replace(/^\d+/, (digits) => String(Math.max(1, Number(digits) - programPrefix.length)))
  return parts.map((part, at) => (at === 0 ? part : column(part))).join(`${file}:1:`)
}

function moduleProblem(precedingText: string, file: string): string {
  return (
    'SyntaxError: A program has no import and no export. It is the body of an async function: call tools with ' +
    `servers.<server>.<tool>({ … }), and return the result\n    at ${file}:${precedingText.split('\n').length}`
  )
}

/** The error of Node's parser, whose stack begins with the line number, the line and a marker below the column. */
function typeScriptProblem(error: unknown, file: string): string | undefined {
  if (!(error instanceof Error)) return undefined
  const [, line, indent] = /^:(\d+)\n[^\n]*\n( *)\^/.exec(error.stack ?? '') ?? []
  if (line === undefined || indent === undefined) return undefined
  return `SyntaxError: ${error.message}\n    at ${file}:${line}:${indent.length + 1}`
}

/** A thrown value as text. `String` would call code of the program. */
function valueText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return valueText(error)
  const { name, message, stack } = Object.fromEntries(Object.entries(error))
  return `${valueText(name ?? 'Error')}: ${valueText(message ?? '')}${typeof stack === 'string' ? `\n${stack.trim()}` : ''}`
}

/**
 * The program's globals, in JavaScript that runs inside the engine. It receives host functions and returns a function that runs a
 * program and reports its outcome.
 */
const prelude: string = `((call, show, log, list, file) => {
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
  const print = (...things) => {
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
    show: print,
  }
  for (const [name, value] of Object.entries(own))
    Object.defineProperty(globalThis, name, { value, enumerable: true })
  const where = (error) =>
    String(error.stack ?? '').split('\\n').filter((line) => line.includes(file)).slice(0, 5).join('\\n')
  return (program, done, failed) => {
    program().then(
      (value) => done(value === undefined ? '' : text(stringify(value))),
      (error) => failed(error instanceof Error ? (text(error) + '\\n' + where(error)).trim() : 'It threw ' + text(error)),
    ).catch((error) => failed(text(error)))
  }
})`
