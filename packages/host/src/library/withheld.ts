import { parseTemplate, type UriTemplate } from '@jackfield/sdk/internal'
import { isForPersonOnly } from '../audience.ts'
import type { LibraryEntry } from '../types/index.ts'
import type { Listing } from './listing.ts'

const reason = 'its server means it for the person alone'

/** Knows what no model is given: resources for the person alone, listed ones and those of a template. */
export class Withholding {
  readonly #listing: Listing
  #seen: readonly LibraryEntry[] | undefined
  #uris = new Set<string>()
  #templates: { server: string; template: UriTemplate }[] = []

  constructor(listing: Listing) {
    this.#listing = listing
  }

  /** Why a model is not given a resource; undefined where it may be. */
  why(server: string, uri: string): string | undefined {
    this.#look()
    const listed = this.#uris.has(JSON.stringify([server, uri]))
    const made = (): boolean =>
      this.#templates.some((one) => one.server === server && one.template.match(uri) !== undefined)
    return listed || made() ? reason : undefined
  }

  #look(): void {
    const { entries } = this.#listing
    if (entries === this.#seen) return
    this.#seen = entries
    this.#uris = new Set()
    this.#templates = []
    for (const entry of entries) {
      if (entry.kind === 'resource' && isForPersonOnly(entry.resource.annotations)) {
        this.#uris.add(JSON.stringify([entry.server, entry.resource.uri]))
      }
      if (entry.kind === 'template' && isForPersonOnly(entry.template.annotations)) {
        const template = templateIn(entry.template.uriTemplate)
        if (template !== undefined) this.#templates.push({ server: entry.server, template })
      }
    }
  }
}

function templateIn(text: string): UriTemplate | undefined {
  try {
    return parseTemplate(text)
  } catch {
    // Nothing can be made of it.
    return undefined
  }
}
