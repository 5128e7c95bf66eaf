import type { Discretion } from '../servers/launch/launch.ts'
import { reasonOf } from '../shared/text.ts'
import type { HostEvent } from '../types/index.ts'

/** Tells every listener what happens, without the values of secrets. */
export class Events {
  readonly #listeners = new Set<(event: HostEvent) => void>()
  readonly #discretion: Discretion

  constructor(discretion: Discretion) {
    this.#discretion = discretion
  }

  on(listener: (event: HostEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  emit(whole: HostEvent): void {
    for (const event of this.#discretion.events(whole)) this.#tell(event)
  }

  #tell(event: HostEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event)
      } catch (error) {
        process.emitWarning(`A listener of the host threw: ${reasonOf(error)}`)
      }
    }
  }
}
