import type { Prompt, Resource, ResourceTemplate, Tool } from '@jackfield/sdk'

/** A tool as the host shows it to a model and a person. */
export interface CatalogTool {
  /** Unique in the host and stable across restarts: `server__tool`, shortened in the middle if too long. */
  readonly name: string
  /** The configured server name. */
  readonly server: string
  /** As the server declared it, with its own name. */
  readonly tool: Tool
  /** Models always get the full definition, however many tools there are. */
  readonly always?: true
}

/** A prompt with its qualified name, its server, and the server's definition. */
export interface CatalogPrompt {
  /** Unique in the host and stable across restarts: `server__prompt`. */
  readonly name: string
  /** The configured server name. */
  readonly server: string
  /** As the server declared it, with its own name. */
  readonly prompt: Prompt
}

/** A resource with its server. Its URI is unique on that server only. */
export interface CatalogResource {
  /** The configured server name. */
  readonly server: string
  /** As the server declared it. */
  readonly resource: Resource
}

/** A resource template with its server. */
export interface CatalogTemplate {
  /** The configured server name. */
  readonly server: string
  /** As the server declared it. */
  readonly template: ResourceTemplate
}
