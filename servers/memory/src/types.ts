/** The types of a graph, and the limits of graphs and requests. */

/** A remembered person, place, project or other thing. */
export interface Entity {
  name: string
  entityType: string
  observations: string[]
}

/** A directed relation between two entities, in active voice. */
export interface Relation {
  from: string
  to: string
  relationType: string
}

/** Entities, and relations of which at least one end is among them. */
export interface Graph {
  entities: Entity[]
  relations: Relation[]
}

/** A part of a graph that is small enough for one result. */
export interface Excerpt extends Graph {
  /** Relations of these entities that are left out; `open_nodes` with fewer names returns them. */
  omittedRelations: number
}

/** One graph: the owner is an authenticated principal, and an owner has a shared graph and graphs of conversations. */
export interface GraphKey {
  /** The principal with the prefix `p:`; empty without authentication. */
  readonly owner: string
  /** Empty for the shared graph, `n:` and a name for a named conversation, `s:` and an id for the graph of a session. */
  readonly conversation: string
}

/** A change of one entity. */
export interface EntityChange {
  readonly key: GraphKey
  readonly name: string
  /** Whether the entity was created or deleted, which changes the list of resources. */
  readonly listed: boolean
}

/** Limits of one graph and one request. Lengths are in UTF-16 code units. */
export const limits = {
  nameChars: 256,
  typeChars: 128,
  conversationChars: 200,
  observationChars: 10_000,
  queryChars: 1_000,
  /** Observations of one entity, and their length together. */
  observationsPerEntity: 1_000,
  entityChars: 100_000,
  /** Entities, observations or relations that one call creates, reads or deletes. */
  itemsPerCall: 500,
  entitiesPerGraph: 50_000,
  relationsPerGraph: 200_000,
  graphsPerOwner: 1_000,
  /** Maximum entities of one page, and characters after which the next page begins. */
  entitiesPerPage: 500,
  charsPerPage: 100_000,
  relationsPerPage: 1_000,
  /** Entities in the list of resources, the most recently changed first. */
  listedEntities: 1_000,
  fileBytes: 1_073_741_824,
} as const
