/**
 * One line per city: code, name, country, time zone, how well it is connected (3 world hub, 2 large, 1 regional), a
 * night in a good hotel in USD, then day °C / night °C / rainy days of January, April, July and October, then other
 * names. The code is the metropolitan code if a city has several airports. Figures are rounded climate normals.
 */
export const cityTable = `
NYC | New York        | United States  | America/New_York     | 3 | 240 | 4/-3/11  | 16/7/11  | 29/20/10 | 18/10/9  | New York City, Manhattan, Nueva York
BOS | Boston          | United States  | America/New_York     | 2 | 230 | 2/-5/11  | 13/5/11  | 28/19/9  | 17/8/10  |
WAS | Washington      | United States  | America/New_York     | 2 | 210 | 7/-2/10  | 20/8/10  | 32/22/10 | 21/10/8  | Washington DC, Washington D.C.
ATL | Atlanta         | United States  | America/New_York     | 3 | 160 | 11/1/11  | 23/11/9  | 32/22/12 | 23/12/7  |
MIA | Miami           | United States  | America/New_York     | 2 | 230 | 24/16/7  | 28/20/6  | 32/25/17 | 30/23/15 |
CHI | Chicago         | United States  | America/Chicago      | 3 | 190 | 0/-8/11  | 15/5/11  | 29/19/10 | 17/8/9   |
DEN | Denver          | United States  | America/Denver       | 2 | 170 | 7/-8/4   | 17/2/9   | 32/16/9  | 19/3/5   |
PKC | Park City       | United States  | America/Denver       | 1 | 260 | 1/-10/10 | 12/0/10  | 28/12/6  | 16/2/6   | Salt Lake City
LAX | Los Angeles     | United States  | America/Los_Angeles  | 3 | 220 | 20/9/6   | 22/12/3  | 28/18/0  | 26/15/2  | LA
SFO | San Francisco   | United States  | America/Los_Angeles  | 3 | 250 | 14/8/11  | 17/10/6  | 20/13/0  | 21/13/3  |
SEA | Seattle         | United States  | America/Los_Angeles  | 2 | 200 | 8/3/18   | 15/6/14  | 25/14/5  | 15/9/13  |
HNL | Honolulu        | United States  | Pacific/Honolulu     | 1 | 280 | 27/19/9  | 28/21/9  | 31/24/7  | 30/23/8  |
YTO | Toronto         | Canada         | America/Toronto      | 3 | 190 | -1/-7/15 | 12/4/12  | 27/18/10 | 14/8/12  |
YVR | Vancouver       | Canada         | America/Vancouver    | 2 | 200 | 7/1/19   | 13/6/14  | 22/14/6  | 14/7/15  |
MEX | Mexico City     | Mexico         | America/Mexico_City  | 2 | 130 | 21/6/3   | 27/12/8  | 23/13/22 | 22/11/10 | Ciudad de México, CDMX
CUN | Cancún          | Mexico         | America/Cancun       | 1 | 190 | 28/20/7  | 31/23/4  | 33/25/10 | 31/24/14 |
BGI | Barbados        | Barbados       | America/Barbados     | 1 | 260 | 29/23/13 | 30/24/9  | 31/25/18 | 31/24/15 | Bridgetown
BAQ | Barranquilla    | Colombia       | America/Bogota       | 1 | 80  | 31/23/0  | 33/25/2  | 33/25/8  | 31/24/14 |
BOG | Bogotá          | Colombia       | America/Bogota       | 2 | 90  | 20/7/9   | 20/9/19  | 19/9/15  | 19/9/19  |
LIM | Lima            | Peru           | America/Lima         | 2 | 100 | 26/20/1  | 25/18/0  | 19/15/3  | 20/15/1  |
SAO | São Paulo       | Brazil         | America/Sao_Paulo    | 2 | 110 | 28/19/18 | 26/17/9  | 22/12/6  | 25/16/12 |
RIO | Rio de Janeiro  | Brazil         | America/Sao_Paulo    | 1 | 130 | 31/24/13 | 29/22/9  | 26/19/6  | 27/21/10 |
BUE | Buenos Aires    | Argentina      | America/Argentina/Buenos_Aires | 2 | 100 | 30/20/9 | 23/14/9 | 15/8/7 | 22/13/9 |
SCL | Santiago        | Chile          | America/Santiago     | 2 | 110 | 30/13/0  | 23/9/2   | 15/4/6   | 22/9/2   |
LON | London          | United Kingdom | Europe/London        | 3 | 220 | 8/3/12   | 15/6/10  | 24/14/8  | 16/9/11  |
EDI | Edinburgh       | United Kingdom | Europe/London        | 1 | 180 | 7/2/13   | 12/5/10  | 19/11/11 | 13/7/13  |
DUB | Dublin          | Ireland        | Europe/Dublin        | 2 | 190 | 8/3/13   | 12/5/11  | 20/12/11 | 14/8/12  |
PAR | Paris           | France         | Europe/Paris         | 3 | 210 | 7/3/10   | 16/7/9   | 26/16/7  | 17/10/9  |
NCE | Nice            | France         | Europe/Paris         | 1 | 190 | 13/6/6   | 17/10/7  | 27/20/2  | 21/14/7  |
AMS | Amsterdam       | Netherlands    | Europe/Amsterdam     | 3 | 200 | 6/1/13   | 13/4/9   | 22/13/10 | 15/8/12  |
BRU | Brussels        | Belgium        | Europe/Brussels      | 2 | 160 | 6/1/13   | 15/5/10  | 23/14/10 | 15/8/11  |
FRA | Frankfurt       | Germany        | Europe/Berlin        | 3 | 150 | 4/-1/11  | 15/5/9   | 26/15/10 | 14/7/9   |
MUC | Munich          | Germany        | Europe/Berlin        | 3 | 170 | 4/-3/11  | 15/4/11  | 25/14/13 | 14/5/10  | München
BER | Berlin          | Germany        | Europe/Berlin        | 2 | 150 | 4/-1/11  | 15/5/8   | 25/15/10 | 14/7/9   |
ZRH | Zurich          | Switzerland    | Europe/Zurich        | 2 | 240 | 4/-1/11  | 15/5/11  | 25/14/12 | 14/7/9   | Zürich
VIE | Vienna          | Austria        | Europe/Vienna        | 2 | 160 | 4/-1/8   | 16/6/8   | 27/17/10 | 15/7/7   | Wien
PRG | Prague          | Czechia        | Europe/Prague        | 1 | 130 | 3/-3/7   | 14/3/7   | 25/14/10 | 13/5/7   | Praha
CPH | Copenhagen      | Denmark        | Europe/Copenhagen    | 2 | 190 | 4/0/11   | 11/4/8   | 22/14/9  | 13/8/11  | København
STO | Stockholm       | Sweden         | Europe/Stockholm     | 2 | 180 | 1/-3/10  | 10/2/7   | 23/14/9  | 11/5/9   |
OSL | Oslo            | Norway         | Europe/Oslo          | 2 | 180 | -1/-6/9  | 10/1/8   | 22/13/10 | 10/4/10  |
REK | Reykjavík       | Iceland        | Atlantic/Reykjavik   | 2 | 220 | 3/-2/15  | 7/1/12   | 15/9/11  | 8/3/15   | Keflavík
BCN | Barcelona       | Spain          | Europe/Madrid        | 2 | 170 | 14/5/5   | 18/10/6  | 28/21/2  | 22/15/7  |
MAD | Madrid          | Spain          | Europe/Madrid        | 3 | 150 | 10/1/6   | 18/7/7   | 33/19/2  | 20/10/7  |
LIS | Lisbon          | Portugal       | Europe/Lisbon        | 2 | 150 | 15/8/11  | 20/12/8  | 28/18/1  | 23/15/8  | Lisboa
ROM | Rome            | Italy          | Europe/Rome          | 2 | 180 | 12/3/8   | 19/8/8   | 31/19/2  | 23/13/8  | Roma
MIL | Milan           | Italy          | Europe/Rome          | 2 | 180 | 7/-1/6   | 18/8/9   | 30/19/6  | 18/10/8  | Milano
BRI | Bari            | Italy          | Europe/Rome          | 1 | 110 | 12/5/7   | 18/9/6   | 30/20/2  | 22/14/7  |
ATH | Athens          | Greece         | Europe/Athens        | 2 | 140 | 13/7/9   | 20/12/5  | 34/24/1  | 24/16/5  | Athína
IST | Istanbul        | Türkiye        | Europe/Istanbul      | 3 | 130 | 9/4/15   | 16/9/9   | 29/20/3  | 20/14/9  | Constantinople
RAK | Marrakesh       | Morocco        | Africa/Casablanca    | 1 | 120 | 18/6/6   | 26/12/6  | 38/21/1  | 28/15/5  | Marrakech
CAI | Cairo           | Egypt          | Africa/Cairo         | 2 | 110 | 19/9/2   | 28/15/1  | 35/23/0  | 30/19/0  |
NBO | Nairobi         | Kenya          | Africa/Nairobi       | 2 | 130 | 26/13/6  | 25/15/14 | 22/12/3  | 26/14/7  |
CPT | Cape Town       | South Africa   | Africa/Johannesburg  | 2 | 140 | 26/16/4  | 23/12/8  | 18/8/12  | 21/11/7  |
DXB | Dubai           | United Arab Emirates | Asia/Dubai     | 3 | 180 | 24/15/2  | 33/21/1  | 41/31/0  | 35/24/0  |
DEL | Delhi           | India          | Asia/Kolkata         | 2 | 110 | 20/8/2   | 37/21/1  | 35/27/14 | 33/19/1  | New Delhi
BKK | Bangkok         | Thailand       | Asia/Bangkok         | 2 | 90  | 33/22/1  | 36/27/6  | 34/26/16 | 33/25/17 | Krung Thep
SIN | Singapore       | Singapore      | Asia/Singapore       | 3 | 230 | 30/24/13 | 32/25/14 | 31/25/14 | 32/25/15 |
DPS | Bali            | Indonesia      | Asia/Makassar        | 1 | 120 | 31/24/18 | 32/24/8  | 29/23/4  | 31/24/6  | Denpasar
HKG | Hong Kong       | Hong Kong      | Asia/Hong_Kong       | 3 | 190 | 19/15/6  | 26/21/12 | 32/27/18 | 28/24/7  |
TYO | Tokyo           | Japan          | Asia/Tokyo           | 3 | 190 | 10/1/5   | 19/10/11 | 30/22/13 | 22/15/12 | Tōkyō
OSA | Osaka           | Japan          | Asia/Tokyo           | 2 | 150 | 10/3/6   | 20/11/10 | 32/25/11 | 23/16/9  | Kyoto, Kyōto
SEL | Seoul           | South Korea    | Asia/Seoul           | 3 | 160 | 2/-6/6   | 18/8/8   | 29/22/15 | 20/11/6  |
SYD | Sydney          | Australia      | Australia/Sydney     | 2 | 190 | 27/20/11 | 24/15/10 | 17/9/8   | 23/14/10 |
AKL | Auckland        | New Zealand    | Pacific/Auckland     | 2 | 160 | 24/16/8  | 20/13/11 | 15/8/16  | 18/11/13 |
ZQN | Queenstown      | New Zealand    | Pacific/Auckland     | 1 | 200 | 22/10/9  | 16/6/9   | 8/-2/8   | 16/5/10  |
`
