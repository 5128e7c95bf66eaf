export { createTravelServer, type TravelOptions, type TravelServer } from './server.ts'
