import { defineServer, rateLimit } from '@jackfield/sdk'
import { createMailer } from './mail.ts'
import { planVacation } from './prompt.ts'
import { computedProvider, type TravelProvider } from './providers/provider.ts'
import {
  activities,
  bookings,
  calendar,
  flightSearch,
  outbox,
  trip,
  tripHistory,
  weatherForecast,
} from './resources.ts'
import { Bookings, Calendar, Outbox, openDatabase, Trips } from './store/index.ts'
import {
  bookVacation,
  createCalendarEvent,
  findBestFlight,
  findTravelFiles,
  saveItinerary,
  searchFlights,
  sendEmail,
} from './tools/index.ts'
import type { World } from './world.ts'

export interface TravelOptions {
  /** Path of the SQLite file that keeps bookings, calendar, trips and outbox; `:memory:` keeps nothing. */
  database: string
  /** Flights, hotels and weather. Default: computed, without a network. */
  provider?: TravelProvider
  /** What time it is. Default: the clock. */
  now?: () => Date
  /** SMTP server for `sendEmail`, such as `smtps://user:password@host`. Left out, mail stays in the outbox. */
  smtpUrl?: string
  /** Sender's address. Default: the user of `smtpUrl` where that is an address. */
  smtpFrom?: string
}

const instructions = (source: string): string => `Plans and books trips between about 65 cities. ${source}

To plan a trip well:
1. Read calendar://events/{year} for free days and trips://history for what the traveller likes. findTravelFiles has calendars, templates and the names of travel documents in the folders of the client.
2. Read weather://forecast/{city}/{date}. Compare prices over the next two weeks with travel://flights/{origin}/{destination}.
3. searchFlights takes city names or IATA codes (NYC stands for JFK, EWR and LGA) and lists every option with its id. findBestFlight narrows them down to three by the traveller's preferences.
4. bookVacation books flights and hotel as one package, after asking the traveller to confirm the price and for their details. Pass the ids of the flights they chose. If they decline, nothing is booked: ask what to change, do not call again unchanged.
5. After a booking offer createCalendarEvent, saveItinerary and sendEmail. Show the text of an e-mail before sending it.
Subscribe to travel://bookings, trips://history or calendar://events/{year} to hear of changes.`

/**
 * The travel server of the protocol's documentation: flights, weather, calendar, past trips, bookings and mail.
 * @throws Error when the database cannot be opened; TypeError when the mail server's address is wrong
 */
export function createTravelServer(options: TravelOptions) {
  const now = options.now ?? ((): Date => new Date())
  const mailer = options.smtpUrl === undefined ? undefined : createMailer(options.smtpUrl, options.smtpFrom)
  const database = openDatabase(options.database, now())
  const trips = new Trips(database)
  const { provider = computedProvider } = options
  const world: World = {
    provider,
    calendar: new Calendar(database),
    trips,
    bookings: new Bookings(database, trips),
    outbox: new Outbox(database),
    mailer,
    now,
    changed(...changed: string[]): void {
      for (const uri of changed) server.resourceUpdated(uri)
    },
    listed(): void {
      server.changes.publish({ type: 'resources' })
    },
  }
  const server = defineServer({
    name: 'travel',
    version: '0.1.0',
    title: 'Travel',
    serverDescription: 'Flights, weather, calendar, bookings and itineraries for planning a trip',
    instructions: instructions(provider.description),
    use: [rateLimit({ perMinute: 1200 })],
    tools: {
      searchFlights: searchFlights(world),
      findBestFlight: findBestFlight(world),
      bookVacation: bookVacation(world),
      createCalendarEvent: createCalendarEvent(world),
      sendEmail: sendEmail(world),
      saveItinerary: saveItinerary(world),
      findTravelFiles: findTravelFiles(world),
    },
    resources: {
      bookings: bookings(world),
      outbox: outbox(world),
      'trip-history': tripHistory(world),
      trip: trip(world),
      calendar: calendar(world),
      'weather-forecast': weatherForecast(world),
      'flight-search': flightSearch(world),
      activities: activities(),
    },
    prompts: { 'plan-vacation': planVacation(world) },
  })
  return server
}

/** The type of a travel server, for clients: `Client<TravelServer>`. */
export type TravelServer = ReturnType<typeof createTravelServer>
