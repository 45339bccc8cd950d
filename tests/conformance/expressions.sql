-- literals
0
1
-1
127
-128
128
2147483647
-2147483648
2147483648
-2147483649
9223372036854775807
-9223372036854775808
9223372036854775808
99999999999999999999999999999999999999
999999999999999999999999999999999999999
1Y
-128Y
128Y
1S
32768S
1L
-9223372036854775808L
9223372036854775808L
1.5
0.5
.5
5.
-0.0
0.00
00012.3400
1e0
1E-3
1e400
1.5D
1.5BD
0.10BD
1e3BD
-1.5
1.5F
TRUE
false
NULL
''
'abc'
'it''s'
"double"
'a' 'b'
'\n\t\\'
'\%\_'
'\x\u00e9\101'
r'\n\%'
DATE'2020-02-29'
DATE '2020'
DATE'2020-02-30'
DATE'0001-01-01'
TIMESTAMP'2020-02-29 12:34:56.123456'
TIMESTAMP'2020-02-29'
TIMESTAMP'x'
TIMESTAMP'2020-02-29T12:00:00+02:00'
TIMESTAMP_NTZ'2020-02-29 12:00:00'
X'1F'
INTERVAL 1 DAY
INTERVAL '1-2' YEAR TO MONTH
+1
- -1
+ 'a'
-'5'
- TRUE
-DATE'2020-01-01'
-NULL
(1)
((i32))
-- arithmetic
i32 + i32 + i32
i32 * j32 - i64
p * p
p * p * p
p * p * p * p
q * q
v * v
r * r
p / q
q / p
v / v
r / v
r / 3
p * 2
p * 2L
p * CAST(2 AS BIGINT)
p + 1
p + 1000
p * (1 - 0.05)
p * (1 - q) * (1 + v)
i32 / 2
i32 / 2.0
100.00 * p / q
p % 0.3
p % 3
-p % 3
x % 0.5
x % y
i32 % -15
i64 % 10
-(i64)
-(-i32)
1 / 3
1 / 0
1.0 / 3
0 / 0
1e0 / 0
1 div 0
NULL / 0
5 % 0
CAST(NULL AS INT) / 0
7 / 2
7 div 2
-7 div 2
-7 % 3
2147483647 + 1
9223372036854775807 + 1
127Y + 1Y
1Y + 1
1.1 + 2.22
1.1 * 2.22
1.1 / 2.22
0.1 + 0.2
0.1e0 + 0.2
1e308 * 10
9.99 % 0.07
i64 * 1.5
i8 * i8
i16 * i16
i32 * i32
i64 * i64
i8 + 1Y
i32 - -1
i32 -1
p -1
p * -2
try_divide(p, 0)
try_add(i8, i8)
try_multiply(i64, i64)
try_subtract(i32, -1)
try_multiply(p, v)
try_add(d, 1)
try_divide(1, 0)
try_add(1, 'a')
i32 & 3
i32 | 1
i32 ^ 5
~i32
i64 << 1
i32 >> 1
-- comparisons
s = 'abc'
s = 'ABC'
s < 'b'
d = '2020-02-29'
d = '2020-02'
d > 'x'
d < DATE'2020-01-01'
z >= '2020-02-29'
z = DATE'2021-01-31'
d BETWEEN '2020-01-01' AND '2021-01-01'
d IN ('2020-02-29', '1970-01-01')
i32 = '5'
i32 = '5.0'
i32 = 5.0
i32 > 2.5
i32 = 'x'
i64 = 9007199254740993
x = 0
x = -0.0
x = 0.1
x <=> NULL
x = 'NaN'
x > 'Infinity'
x = CAST('NaN' AS DOUBLE)
b = 1
b = 'true'
b = 'x'
b > c
p = 1
p = 1.00
p = '1'
p = 1e0
p > 100000000000
r = 1.5
NULL = NULL
NULL <=> NULL
1 = '1'
'a' = 'b'
1 = 1.0
1 < '2'
TRUE = 1
DATE'2020-01-01' = '2020-01-01'
TIMESTAMP'2020-01-01 00:00:00' = DATE'2020-01-01'
1 IN ('1', 2)
1 BETWEEN '0' AND 2
NULL IN (1)
1 IN (NULL)
i32 IN (i64, p, 3)
s IN (u, 'abc', NULL)
p IN (1, 2.5, q)
x IN (1, 2.5, p)
'1' IN (1, 2)
d IN (z)
z IN (d)
1 IN ('a')
i8 IN (1000)
i8 = 1000
i8 < 1000L
(1, 2) = (1, 2)
INTERVAL 1 DAY = INTERVAL 24 HOURS
d - g > INTERVAL 1 DAY
-- logic
i32 <> 0 AND 100 / i32 > 1
i32 = 0 OR 100 / i32 > 1
100 / i32 > 1 AND i32 <> 0
100 / i32 > 1 OR i32 = 0
FALSE AND 1 / 0 = 1
1 / 0 = 1 AND FALSE
TRUE OR 1 / 0 = 1
NULL AND 1 / 0 = 1
b AND 1 / i32 > 0
b OR 1 / i32 > 0
b AND c AND NOT b
b OR c OR NULL
NULL AND b
NULL OR b
CASE WHEN i32 <> 0 THEN 100 / i32 ELSE 0 END
IF(i32 = 0, NULL, 10 % i32)
IF(b, 1 / 0, 2)
IF(b, i32 / 0, 2)
coalesce(i32, 1 / 0)
coalesce(1, 1 / 0)
coalesce(i32, CAST(s AS INT))
CASE WHEN TRUE THEN 1 ELSE 1 / 0 END
nvl(i32, 1 div 0)
CASE WHEN n = 'abc' THEN 0 ELSE CAST(n AS INT) END
nullif(i32, 1 / 0)
i32 IN (1, 1 / 0)
i32 IN (i32, 10 / i32)
b IN (TRUE, 1 / 0 = 1)
i32 BETWEEN 10 / i32 AND 5
greatest(i32, 10 / i32)
nvl2(b, 1, 10 / i32)
CASE i32 WHEN 0 THEN 0 WHEN 10 / i32 THEN 1 ELSE 2 END
(i32 > 0) IS TRUE
(1 / i32 > 0) IS NOT NULL
isnull(1 / i32)
CASE WHEN b THEN 1 / i32 WHEN c THEN 2 END
b = (i32 > 0)
(b AND c) = (c AND b)
i32 > 0 AND 's' IN (s, u)
NOT (b AND c)
NOT b OR NOT c
b <=> c
b <> c
-- conditionals
coalesce(NULL, NULL)
coalesce(i8, i16, i32)
coalesce(i32, x, p)
coalesce(i64, p)
coalesce(i8, p, q)
coalesce(p, r, v)
coalesce(s, i32, d)
coalesce(i32, s, d)
coalesce(d, s, i32)
coalesce(d, z, s)
coalesce(1, 2.5, '3')
coalesce(b, 's')
greatest(i32, i64, x)
greatest(x, y)
least(x, y)
greatest(d, z)
greatest(p, v, i32)
greatest(s, u, 'm')
greatest(b, c)
least(i32, j32, NULL)
IF(b, 1, 2)
IF(b, 1, 2.5)
IF(b, 'a', 1)
IF(b, NULL, 1)
IF(b, NULL, NULL)
IF(NULL, 1, 2)
IF('true', 1, 2)
CASE WHEN b THEN 1 WHEN c THEN 2.5 ELSE 3L END
CASE WHEN i32 > 0 THEN 'pos' WHEN i32 < 0 THEN 'neg' ELSE 'zero' END
CASE s WHEN 'a' THEN 1 WHEN u THEN 2 ELSE 0 END
CASE WHEN b THEN p ELSE 0 END
CASE WHEN b THEN p * (1 - q) ELSE 0 END
CASE i32 WHEN NULL THEN 1 ELSE 2 END
decode(i32, NULL, 1, 0, 2, 3)
decode(s, 'a', 1, 'abc', 2)
decode(i32, 1, 'a', 2, 2)
decode(x, CAST('NaN' AS DOUBLE), 1, 0)
CASE x WHEN CAST('NaN' AS DOUBLE) THEN 1 ELSE 0 END
nvl2(b, 1, 'a')
nullif(x, x)
nullif(1, 1.0)
nullif('1', 1)
nullif(NULL, 1)
nanvl(x, y)
nanvl(x, 0)
nanvl(i32, 1)
CASE WHEN 1 THEN 2 END
CASE WHEN NULL THEN 1 ELSE 2 END
iff(b, 1, 2)
CASE WHEN 'true' THEN 1 END
-- casts
CAST(2.7 AS INT)
CAST(-2.7 AS INT)
CAST(2.5 AS DECIMAL(1, 0))
CAST(-2.5 AS DECIMAL(1, 0))
CAST(3.5 AS DECIMAL(2, 1))
CAST(99.9 AS DECIMAL(2, 0))
CAST('2.7' AS INT)
CAST('1e2' AS INT)
CAST('1e2' AS DOUBLE)
CAST('1e2' AS DECIMAL(5, 1))
CAST(x AS DECIMAL(20, 3))
CAST(x AS DECIMAL(38, 0))
CAST(x AS DECIMAL(38, 37))
CAST(y AS BIGINT)
CAST(p AS DOUBLE)
CAST(v AS DOUBLE)
CAST(r AS BIGINT)
CAST(p AS DECIMAL(9, 1))
CAST(v AS DECIMAL(38, 17))
CAST(i32 AS DECIMAL)
CAST(i32 AS DECIMAL(5))
CAST(i64 AS DECIMAL(19, 0))
CAST(i64 AS DECIMAL(18, 2))
CAST(b AS DECIMAL(3, 2))
CAST(TRUE AS INT)
CAST('abc' AS INT)
TRY_CAST('abc' AS INT)
CAST('' AS INT)
CAST(' 12 ' AS INT)
CAST('t' AS BOOLEAN)
CAST('2020-01-01' AS DATE)
CAST('2020-1-1' AS DATE)
CAST('2020-01-01 12:00:00' AS TIMESTAMP)
CAST(z AS DATE)
CAST(d AS TIMESTAMP)
CAST(z AS BIGINT)
CAST(z AS DOUBLE)
CAST(z AS INT)
CAST(z AS DECIMAL(20, 6))
CAST(d AS INT)
CAST(i32 AS TIMESTAMP)
CAST(x AS TIMESTAMP)
CAST(1.5 AS TIMESTAMP)
CAST(i32 AS DATE)
i32::STRING
n::INT
s::DATE
p::DECIMAL(12, 4)::STRING
CAST(CAST(p AS STRING) AS DECIMAL(10, 2))
CAST(CAST(x AS STRING) AS DOUBLE)
CAST(s AS VARCHAR(3))
CAST(s AS CHAR(3))
CAST(i32 AS FLOAT)
CAST(s AS BINARY)
CAST(i32 AS INTEGER)
CAST(i32 AS LONG)
CAST(i32 AS SHORT)
CAST(i32 AS BYTE)
CAST(i32 AS REAL)
CAST(n AS NUMERIC(10, 2))
CAST(n AS DEC(10, 2))
CAST(e AS TIMESTAMP_NTZ)
CAST(z AS TIMESTAMP_NTZ)
CAST(0.1 + 0.2 AS STRING)
CAST(1e10 AS STRING)
CAST(1e-5 AS STRING)
CAST(123456.789e0 AS STRING)
CAST(1e7 AS STRING)
CAST(12345678e0 AS STRING)
CAST(0.00000001 AS STRING)
CAST(CAST('NaN' AS DOUBLE) AS INT)
CAST(1e20 AS BIGINT)
CAST('9223372036854775808' AS BIGINT)
CAST(300 AS TINYINT)
TRY_CAST(300 AS TINYINT)
CAST(i32 AS INTERVAL DAY)
CAST(q AS DECIMAL(20, 5))
CAST(-0.0e0 AS STRING)
typeof(i32)
-- times
extract(year from e)
extract(dow from '2020-02-29')
EXTRACT(DAY FROM i32)
date_part(s, d)
INTERVAL 1 DAY + d
INTERVAL 1 MONTH + z
INTERVAL 1 DAY - d
e + INTERVAL 1 DAY
'2020-02-29' + INTERVAL 1 YEAR
d + -INTERVAL 1 DAY
d + INTERVAL 1 DAY * 3
d + INTERVAL 1 DAY + INTERVAL 1 MONTH
(d + INTERVAL 1 MONTH) - INTERVAL 1 DAY
i32 + INTERVAL 1 DAY
d + INTERVAL 1 DAY = g
NULL + INTERVAL 1 DAY
1 + d
i8 + d
dateadd(d, 3)
1 - d
d + i32
date_add(d, i32)
date_sub(d, i32)
add_months(d, i32)
d + 'x'
trunc(e, 'MM')
date_trunc('month', e)
trunc(d, s)
trunc(d, NULL)
trunc(i32, 'MM')
date_trunc('DAY', NULL)
trunc(d, 'mm')
date_trunc('Day', z)
next_day(d, 'MO')
next_day(d, 'Sunday')
next_day(d, 'x')
next_day(d, s)
date_format(d, 'yyyy-MM-dd')
to_date(s, 'yyyy')
try_add(d, INTERVAL 1 DAY)
make_timestamp(2020, 2, 29, 12, 34, 56.789)
z + make_interval(0, 1)
to_timestamp(e, 'yyyy')
year(d) * 100 + month(d)
dayofweek(d) = 1
d + (d - g)
z - k
current_date()
current_date
current_timestamp()
now()
d >= DATE'1998-12-01' - INTERVAL 90 DAY
d < DATE'1994-01-01' + INTERVAL '1' YEAR
z - INTERVAL 90 DAY > d
date_add(DATE'2020-02-28', 2)
last_day(DATE'2023-02-01')
datediff('2020-03-01', '2020-02-28')
weekofyear(DATE'2021-01-03')
add_months('2020-01-31', 1)
convert_timezone('UTC', 'America/New_York', z)
convert_timezone('Europe/Berlin', 'Asia/Tokyo', z)
convert_timezone('America/Sao_Paulo', 'Europe/Paris', CAST(k AS TIMESTAMP_NTZ))
convert_timezone('Asia/Kolkata', k)
convert_timezone('+02:00', '-3', d)
convert_timezone('UTC', 'Europe/Berlin', e)
convert_timezone('UTC', NULL, z)
convert_timezone(NULL, 'UTC', z)
convert_timezone('UTC', 'UTC', NULL)
convert_timezone('UTC', 'UTC', i32)
convert_timezone('UTC', s, z)
months_between(z, k, false)
months_between(z, k, TRUE)
months_between(k, d, b)
months_between(k, d, NULL)
months_between(g, d, 'false')
months_between(z, i32)
from_unixtime(i32, 'E dd MMM yyyy HH:mm:ss')
from_unixtime(i16, 'yyyy-MM-dd')
from_unixtime(-i32, 'yyyyMMdd')
from_unixtime(NULL)
from_unixtime(i8, NULL)
from_unixtime('12')
from_unixtime(1, 'yyyy', 'x')
dayname(NULL)
dayname('2024-02-29')
monthname(TIMESTAMP'2024-02-29 23:59:59')
dayname(z) || monthname(d)
-- mathematics
round(2.5)
round(-2.5)
round(3.5)
bround(2.5)
bround(3.5)
round(2.5e0)
bround(2.5e0)
round(1.005e0, 2)
round(1.005, 2)
round(12345, -2)
round(15, -1)
round(25Y, -1)
round(127Y, -1)
round(2147483647, -1)
round(p, NULL)
round(p, i8)
round('2.5')
round(x, '1')
floor(-0.5)
ceil(-0.5)
floor(1e300)
ceil(1e20)
floor(2.5)
ceil(99.5)
floor('2.5')
sqrt(-1)
ln(0)
ln(-1)
exp(1000)
power(2, 10)
power(0, -1)
power(-8, 1 / 3)
abs(-2147483648)
abs(-2.5)
abs('-3')
abs(INTERVAL -1 DAY)
sign(-2.5)
sign(0)
sign('-2')
pi()
e()
degrees(x)
factorial(5)
hex(i32)
rand()
floor(p, i8)
ceil(NULL)
log(10, 100)
log(0, 1)
greatest(floor(x), 0)
round(p * q, 2)
round(x * 100, 0) / 100
sqrt(p)
x * x + y * y
sqrt(x * x + y * y)
floor(i32 / 10) * 10
i32 - floor(i32 / 3.0) * 3
-- strings
substring(s FROM 2 FOR 3)
substring(s FROM 2)
substring(i32, 1, 2)
substring(s, '2')
substring(s, 1.9)
substring(NULL, 1)
substring(s, NULL)
substring(d, 1, 4)
s LIKE 'a#%b' ESCAPE '#'
s LIKE '%#%%' ESCAPE '#'
s ILIKE '%ABC%'
i32 LIKE '1%'
s LIKE 1
d LIKE '2020%'
like(s, 'a%')
s LIKE ANY ('a%', '%b')
u LIKE s
s LIKE concat(u, '%')
s LIKE ALL ('a%', '%b%')
s NOT LIKE ANY ('a%', '%b')
s LIKE ('a%')
b LIKE 't%'
s RLIKE '^a.*b$'
s RLIKE '[0-9]+'
s RLIKE '('
s RLIKE u
regexp_like(s, '^a')
regexp(s, 'b')
rlike(s, 'c')
s REGEXP 'a|b'
concat(s, '-', u)
concat(s, i32, d, p, x)
s || '-' || u
concat()
concat(s)
concat('a', 'b')
concat(NULL, s)
concat_ws('-', s, u)
upper(s) || lower(u)
'a' || 1 || 2.50
length(s || u)
length('')
length(1234)
substring('Spark SQL', 5)
substring('Spark SQL', -3)
substring('Spark SQL', 0, 3)
substring('Spark SQL', 5, 1)
left('abc', 2)
right('abc', -1)
position('b' IN 'abc')
position('b', 'abcb', 3)
instr('abcb', 'b')
locate('', 'abc')
split_part(s, ',', -1)
split_part(s, '', 1)
split_part(s, u, 1)
split_part('a.b.c', '.', 2)
split_part('a,b', ',', 0)
translate('abcb', 'bc', 'xy')
translate(s, 'aab', 'xyz')
initcap('hello wOrld-foo')
ascii('')
ascii('語')
chr(65)
chr(i32)
char(97)
space(3)
repeat('ab', 3)
repeat(s, -1)
repeat(s, 0)
reverse('日本')
lpad('hi', 5, '??')
rpad('hi', 1)
lpad('hi', 5)
substring_index(s, ',', 1)
overlay(s PLACING 'x' FROM 2)
regexp_replace(s, 'a', 'b')
regexp_extract(s, '(a)(b)', 1)
format_number(x, 2)
upper('ß')
upper('ŉ')
lower('İ')
lower('ΑΣ')
initcap(s) = s
length(trim(s)) > 3
CASE WHEN s LIKE 'a%' THEN upper(s) ELSE u END
coalesce(nullif(trim(s), ''), 'none')
CAST(substring(e, 1, 4) AS INT)
replace(s, 'a')
elt(1, s, u)
find_in_set('a', s)
soundex(s)
crc32(s)
base64(s)
sum(i32)
unknown_function(s)
s = u COLLATE UTF8_LCASE
s COLLATE UTF8_BINARY = u
startswith('Spark', 'Sp')
endswith(s, s)
contains(s, s)
contains(NULL, 'a')
-- floats
float(i64)
float(n)
1.5F
1e39F
-0.1F
0.1F = 0.1
h = x
CAST(h AS STRING) || 'x'
length(h)
h || '-'
x + CAST(h AS DOUBLE)
h + o + o
h * h * o
-h * 3
year(h)
CAST('16777217' AS FLOAT)
CAST('16777217.0000000001' AS FLOAT)
CAST('3.4028235677973366e38' AS FLOAT)
CAST('3.40282356e38' AS FLOAT)
CAST('1e-46' AS FLOAT)
CAST('7.1e-46' AS FLOAT)
CAST(9007199791611905L AS FLOAT)
CAST(9007199791611904L AS FLOAT)
CAST(16777217 AS FLOAT)
CAST(1.00000005960464477541BD AS FLOAT)
CAST(1.000000059604644775390625BD AS FLOAT)
-- binaries
X'1F'
X'1f0'
X''
x'ABCDEF'
X'61' = 'a'
w IN (X'61', X'FF')
w IN (X'61', NULL)
w IN ('a', 'abc')
w BETWEEN X'00' AND X'7F'
binary(s)
CAST(CAST(s AS BINARY) AS STRING) = s
if(b, w, m)
if(b, w, s)
CASE WHEN b THEN w ELSE 1 END
length(w || m)
hex(w || m)
w || s || m
lpad(w, 3, X'00')
w IS NULL
-- spans
z - k > INTERVAL 1 HOUR
z - k BETWEEN INTERVAL '-1' DAY AND INTERVAL '1' DAY
(z - k) * 2 + INTERVAL 1 SECOND
z + (z - k) * 0
CASE WHEN b THEN z - k END
-- intervals
INTERVAL 1 DAY
INTERVAL '1' DAY
INTERVAL 3 DAYS
INTERVAL -40 DAYS
INTERVAL '-2' MONTH
INTERVAL 1 MONTH
INTERVAL 13 MONTHS
INTERVAL 1 YEAR
INTERVAL '1-2' YEAR TO MONTH
INTERVAL '-1-2' YEAR TO MONTH
INTERVAL 1 WEEK
INTERVAL 5 HOURS
INTERVAL 24 HOURS
INTERVAL 90 MINUTE
INTERVAL '1.5' SECOND
INTERVAL 1 SECOND
INTERVAL '1 02:03:04.567' DAY TO SECOND
INTERVAL '1 02' DAY TO HOUR
INTERVAL '02:03' HOUR TO MINUTE
INTERVAL '10:20.5' MINUTE TO SECOND
INTERVAL 3 DAYS 4 HOURS
INTERVAL 1 YEAR 2 MONTHS
INTERVAL '3 days'
INTERVAL '1 day 2 hours'
INTERVAL '2 years 3 months'
INTERVAL 1 MILLISECOND
INTERVAL 1 MICROSECOND
INTERVAL '1' QUARTER
INTERVAL 1 MONTH 1 DAY
INTERVAL 0 DAY
INTERVAL '-1 02:03:04' DAY TO SECOND
INTERVAL 1.5 DAYS
INTERVAL 'x' DAY
-- patterns
'%'
''
'a%'
'%a'
'%a%'
'_'
'a_b'
'a\\_b'
'a\_b'
'%\%b%'
'%\%%'
'100\%'
'a\\\\b'
'__'
'a%b%c'
'abc'
'_b%'
'%ö%'
'日__'
'%\\x'
'a\\'
'.*'
'(a)'
'%\n'
'A%'
'%_%'
'%__%'
NULL
u
-- host
levenshtein(s, u)
levenshtein(u, s)
levenshtein('kitten', s)
levenshtein('kitten', 'sitting')
levenshtein('', s)
levenshtein(s, u, 0)
levenshtein(s, u, 1)
levenshtein(s, u, 3)
levenshtein(s, u, -1)
levenshtein(s, u, NULL)
levenshtein(s, NULL)
levenshtein(s, 'ab', i8)
levenshtein('日本語', '日本')
levenshtein('𝒳y', 'y𝒳')
levenshtein(i32, d)
regexp_replace(s, 'b', '<$0>')
regexp_replace(s, '[a-c]', '')
regexp_replace(s, '[a-c]+', '-')
regexp_replace(s, 'x*', '')
regexp_replace(s, 'x*', '-')
regexp_replace(s, '(a)(b)?', '[$2|$1]')
regexp_replace(s, '(a|b)+', '$1$1')
regexp_replace(s, '(?:a|bc)', '\\$')
regexp_replace(s, '.', '\\\\')
regexp_replace(s, '^.', '#')
regexp_replace(s, '.$', '#')
regexp_replace(s, '\\s+', ' ')
regexp_replace(s, '[^a-z]', '_')
regexp_replace(s, 'a', '$1')
regexp_replace(s, '(a)', '$12')
regexp_replace(s, '(a)', 'x$')
regexp_replace(s, 'a', NULL)
regexp_replace(s, u, 'x')
regexp_replace(s, 'a', u)
regexp_replace(s, 'a', 'x', 1)
regexp_replace(s, 'a', 'x', 2)
regexp_replace('a1b22c333', '[0-9]+', '#')
regexp_replace('a1b22c333', '([a-z])([0-9]+)', '$2$1')
regexp_replace('aaa', 'a{2}', 'b')
regexp_replace('aaaa', 'a{1,3}?', 'b')
regexp_replace('日本語', '本', '$0$0')
regexp_replace(i64, '0', 'o')
regexp_extract(s, '(a)(b)?', 0)
regexp_extract(s, '(a)(b)?', 1)
regexp_extract(s, '(a)(b)?', 2)
regexp_extract(s, '(a)(b)')
regexp_extract(s, 'b.', 0)
regexp_extract(s, '([a-z]+)', 1)
regexp_extract(s, '(?:a)(.)', 1)
regexp_extract(s, '^(.)', 1)
regexp_extract(s, '(.)$', 1)
regexp_extract(s, '(a)', 2)
regexp_extract(s, '(a)', -1)
regexp_extract(s, 'a')
regexp_extract(s, NULL, 0)
regexp_extract('100-200', '(\\d+)-(\\d+)', 1)
regexp_extract('100-200', '(\\d+)-(\\d+)', 2)
regexp_extract('abab', '(ab)+', 1)
regexp_extract('foobar', '(fo|foo)(bar)?', 0)
regexp_extract('foobar', '(fo|foo)(bar)', 1)
regexp_extract('aab', '(a*?)(b)', 1)
regexp_extract('key=value; k2=v2', '(\\w+)=(\\w+); (\\w+)', 3)
regexp_extract(d, '-(\\d+)-', 1)
split(s, 'b')[0]
split(s, 'b')[1]
split(s, ',')[0]
split('a,b,,c,', ',')[0]
split('a,b,,c,', ',')[4]
split('a,b,,c,', ',')[2]
split('a,b,,c,', ',')[5]
split('a,b,,c,', ',')[-1]
split('a,b,,c,', ',', -1)[3]
split('a,b,,c,', ',', 2)[1]
split('a.b', '.')[0]
split('a.b', '\\.')[1]
split('a1b22c', '[0-9]+')[2]
split('', ',')[0]
split('abc', '')[1]
split(',a', ',')[0]
split(s, NULL)[0]
split('aXbxc', '[xX]')[2]
split('a|b', '\\|')[1]
split(d, '-')[1]
date_format(z, 'yyyy-MM-dd HH:mm:ss')
date_format(z, 'yyyy-MM-dd''T''HH:mm:ss.SSSSSS')
date_format(z, 'y M d H m s S')
date_format(z, 'yy yyy yyyyy yyyyyy')
date_format(z, 'MM MMM MMMM')
date_format(z, 'L LL LLL LLLL')
date_format(z, 'd dd')
date_format(z, 'D')
date_format(z, 'DDD')
date_format(z, 'DD')
date_format(z, 'E EE EEE EEEE')
date_format(z, 'a h hh K KK k kk')
date_format(z, 'SS SSS SSSS SSSSSSS SSSSSSSSS')
date_format(z, 'Q QQ QQQ QQQQ')
date_format(z, 'q qq qqq qqqq')
date_format(z, 'HH''h'' mm''''ss')
date_format(z, '')
date_format(z, 'é — % 1')
date_format(z, 'yyyyy')
date_format(z, 'yyyyyyy')
date_format(z, 'EEEEE')
date_format(z, 'MMMMM')
date_format(z, 'u')
date_format(z, 'w')
date_format(z, 'F')
date_format(z, 'G')
date_format(z, 'n')
date_format(z, 'VV z X Z')
date_format(z, '[yyyy]')
date_format(z, 'aa')
date_format(z, '''open')
date_format(z, NULL)
date_format(z, s)
date_format(d, 'yyyy/MM/dd HH')
date_format(d, 'EEEE, d MMMM y')
date_format(d, 'DDD')
date_format(s, 'yyyy')
date_format('2020-02-29 13:05:09.012', 'dd.MM.yyyy hh:mm a')
date_format(DATE'0001-01-01', 'yyyy-MM-dd D E')
date_format(DATE'9999-12-31', 'yyyy-MM-dd D E')
date_format(TIMESTAMP'1969-12-31 23:59:59.999999', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
date_format(add_months(DATE'9999-12-31', 24), 'y yyyy')
-- precedence
'1' || 3 - 3
i32 - 1 || 3
-i32::STRING
-1L::STRING
- 1.5::INT::STRING
1 << 2 + 1
5 ^ 3 & 1 | 8
i32 >>> 1 >> 1
b = c IS NULL
i32 < j32 = b
b = i32 < j32
i32 = 1 LIKE 't%'
s LIKE 'a' || '%' ESCAPE '/'
i32 IS NULL IS NULL
i32 IN (1) = TRUE
i32 = NOT b
! b = c
i32 << < 1
i32 < < 1
i32 > > 1
-split('3,4', ',')[0]
NOT b IS NULL
i32 BETWEEN 0 AND 3 AND b
-- bits
bit_count(i32, 1)
shiftleft(i32)
~i8 & ~i16
i64 & -9223372036854775807L
shiftrightunsigned(i8, 1)
~'1'
'1' & '1'
'1' & 1
NULL & NULL
NULL << 1
1 << NULL
'1' << 1
1 << '1'
1.5 << 1
bit_count('1')
1Y << 2
1L << 65
-1 >>> 33
-- hashes
hash(NULL)
xxhash64(NULL, NULL)
hash(-0.0D, 0.0D)
hash(CAST('NaN' AS FLOAT))
hash(INTERVAL '2' MONTH)
xxhash64(INTERVAL '2' MONTH, DATE'2020-01-01')
hash(r + 1, v)
hash(1 / i32)
-- joins
concat_ws()
concat_ws(repeat(',', 2), s, 10 % i32)
-- formats
to_timestamp('2024-02-09T10', 'yyyy-MM-dd''T''HH')
