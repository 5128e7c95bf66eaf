/** Which arguments of a tool travel as `Mcp-Param-*` headers: the header's name and the path of `properties` keys. */
export type HeaderPlan = readonly {
  readonly header: string
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}[]
