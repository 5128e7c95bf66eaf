export { type Catalog, createCatalog } from './catalog.ts'
export { exposedName } from './names.ts'
