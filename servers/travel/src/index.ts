export { type HttpProviderOptions, httpProvider } from './providers/http.ts'
export type { HotelQuery, TravelProvider } from './providers/provider.ts'
export { createTravelServer, type TravelOptions, type TravelServer } from './server.ts'
