/** The variables of an RFC 6570 template, as a type. Exploded and list variables are arrays of strings. */
export type TemplateVariables<T extends string> = string extends T
  ? Record<string, string | string[]>
  : { [V in VariableNames<T>]: V extends ExplodedNames<T> ? string[] : string }

type Expressions<T extends string> = T extends `${string}{${infer E}}${infer Rest}`
  ? E | Expressions<Rest>
  : never
type Bare<E extends string> = E extends `${'+' | '#' | '.' | '/' | ';' | '?' | '&'}${infer Rest}` ? Rest : E
type Listed<E extends string> = E extends `${infer A},${infer B}` ? A | Listed<B> : E
type Specs<T extends string> = Listed<Bare<Expressions<T>>>
type Named<S extends string> = S extends `${infer N}*` ? N : S extends `${infer N}:${string}` ? N : S
type VariableNames<T extends string> = Named<Specs<T>>
type ExplodedNames<T extends string> =
  Specs<T> extends infer S ? (S extends `${infer N}*` ? N : never) : never
