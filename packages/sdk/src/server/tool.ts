import type {
  Literal,
  PromptDefinition,
  ResourceDefinition,
  SchemaOrNone,
  TemplateDefinition,
  ToolDefinition,
} from './definitions.ts'
import type { PromptValue, ResourceValue, TemplateValue, ToolValue } from './server.ts'

/** Defines a tool: its name is the key it is given in `defineServer`. */
export function tool<
  In extends SchemaOrNone = undefined,
  Out extends SchemaOrNone = undefined,
  L extends Literal = Literal,
>(definition: ToolDefinition<In, Out, L>): ToolValue<In, Out> {
  return { ...definition, kind: 'tool' }
}

/** Defines a resource at one URI; its name is the key it is given in `defineServer`. */
export function resource(definition: ResourceDefinition): ResourceValue {
  return { ...definition, kind: 'resource' }
}

/** Defines a family of resources by an RFC 6570 template; its name is the key it is given in `defineServer`. */
export function template<const T extends string>(definition: TemplateDefinition<T>): TemplateValue<T> {
  return { ...definition, kind: 'template' }
}

/** Defines a prompt: its name is the key it is given in `defineServer`. */
export function prompt<In extends SchemaOrNone = undefined>(
  definition: PromptDefinition<In>,
): PromptValue<In> {
  return { ...definition, kind: 'prompt' }
}
