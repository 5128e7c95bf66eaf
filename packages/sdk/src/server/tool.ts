import type {
  Described,
  Literal,
  PromptDefinition,
  ResourceDefinition,
  SchemaOrNone,
  TemplateDefinition,
  ToolDefinition,
} from './definitions.ts'
import { making } from './making.ts'
import { promptEntry } from './prompt-entry.ts'
import { resourceEntry } from './resource-entry.ts'
import type { PromptValue, ResourceValue, TemplateValue, ToolValue } from './server.ts'
import { templateEntry } from './template-entry.ts'
import { toolEntry } from './tool-entry.ts'

/** Defines a tool: its name is the key it is given in `defineServer`. */
export function tool<
  In extends SchemaOrNone = undefined,
  Out extends SchemaOrNone = undefined,
  L extends Literal = Literal,
>(definition: ToolDefinition<In, Out, L> & Described<In, Out>): ToolValue<NoInfer<In>, NoInfer<Out>> {
  return { ...definition, kind: 'tool', [making]: toolEntry }
}

/** Defines a resource at one URI; its name is the key it is given in `defineServer`. */
export function resource<const U extends string>(definition: ResourceDefinition<U>): ResourceValue<U> {
  return { ...definition, kind: 'resource', [making]: resourceEntry }
}

/** Defines a family of resources by an RFC 6570 template; its name is the key it is given in `defineServer`. */
export function template<const T extends string>(definition: TemplateDefinition<T>): TemplateValue<T> {
  return { ...definition, kind: 'template', [making]: templateEntry }
}

/** Defines a prompt: its name is the key it is given in `defineServer`. */
export function prompt<In extends SchemaOrNone = undefined>(
  definition: PromptDefinition<In> & Described<In>,
): PromptValue<NoInfer<In>> {
  return { ...definition, kind: 'prompt', [making]: promptEntry }
}
