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
import type { TravelServices } from './services.ts'
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

export interface TravelOptions {
  /** Path of the SQLite file for bookings, calendar, trips and outbox; `:memory:` stores nothing. */
  database: string
  /** Flights, hotels and weather. Default: computed, without a network. */
  provider?: TravelProvider
  /** The current time. Default: the system clock. */
  now?: () => Date
  /** SMTP server for `sendEmail`, such as `smtps://user:password@host`. Default: none; messages stay in the outbox. */
  smtpUrl?: string
  /** The sender's address. Default: the user of `smtpUrl` if it is an address. */
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
 * @throws Error if the database cannot be opened; TypeError if `smtpUrl` or the sender is invalid
 */
export function createTravelServer(options: TravelOptions) {
  const now = options.now ?? ((): Date => new Date())
  const mailer = options.smtpUrl === undefined ? undefined : createMailer(options.smtpUrl, options.smtpFrom)
  const database = openDatabase(options.database, now())
  const trips = new Trips(database)
  const { provider = computedProvider } = options
  const services: TravelServices = {
    provider,
    calendar: new Calendar(database),
    trips,
    bookings: new Bookings(database, trips),
    outbox: new Outbox(database),
    mailer,
    now,
    notifyUpdated(...updated: string[]): void {
      for (const uri of updated) server.resourceUpdated(uri)
    },
    notifyListChanged(): void {
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
      searchFlights: searchFlights(services),
      findBestFlight: findBestFlight(services),
      bookVacation: bookVacation(services),
      createCalendarEvent: createCalendarEvent(services),
      sendEmail: sendEmail(services),
      saveItinerary: saveItinerary(services),
      findTravelFiles: findTravelFiles(services),
    },
    resources: {
      bookings: bookings(services),
      outbox: outbox(services),
      'trip-history': tripHistory(services),
      trip: trip(services),
      calendar: calendar(services),
      'weather-forecast': weatherForecast(services),
      'flight-search': flightSearch(services),
      activities: activities(),
    },
    prompts: { 'plan-vacation': planVacation(services) },
  })
  return server
}

/** The type of a travel server, for clients: `Client<TravelServer>`. */
export type TravelServer = ReturnType<typeof createTravelServer>
